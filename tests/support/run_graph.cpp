#include "tests/support/run_graph.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "core/graph/batch_parts.h"
#include "formats/models/half_floats.h"

namespace plimsoll::test {
namespace {

bool is_norm_weight(ParameterRole role) {
  return role == ParameterRole::kNorm1Weight || role == ParameterRole::kNorm2Weight ||
         role == ParameterRole::kFinalNormWeight || role == ParameterRole::kQueryNormWeight ||
         role == ParameterRole::kKeyNormWeight || role == ParameterRole::kEmbeddingNormWeight ||
         role == ParameterRole::kTransformNormWeight;
}

/// Queries of a model whose scores have no factor 1 / √d begin with it (as T5's do): else most weights of a softmax are 0 or 1.
bool is_of_a_query(const ModelSpec& spec, const ParameterTensor& tensor, std::int64_t element) {
  if (spec.positions != PositionKind::kRelative) return false;
  if (tensor.role == ParameterRole::kCrossQueryWeight) return true;
  return tensor.role == ParameterRole::kQkvWeight && element / tensor.columns < spec.attention_width();
}

}  // namespace

GraphRun::GraphRun(const Graph& graph, std::int64_t workers)
    : graph_(&graph), memory_(graph.tensors.size()), stored_in_bf16_(graph.tensors.size(), 0), pool_(workers), product_(graph.recipe.matmul) {
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const Tensor& tensor = graph.tensors[i];
    if (tensor.view_of.valid()) continue;
    memory_[i].resize(static_cast<std::size_t>((tensor.bytes().count + 7) / 8));
    std::memset(memory_[i].data(), 0xff, memory_[i].size() * sizeof(double));  // all ones is a NaN in fp32 and fp64
  }
}

OperandView GraphRun::view(TensorId id, Access access) {
  const Tensor& tensor = graph_->at(id);
  const TensorId root = tensor.view_of.valid() ? tensor.view_of : id;
  auto* start = reinterpret_cast<std::byte*>(memory_[root.index].data());
  return {.data = start + tensor.view_offset * size_of(tensor.dtype), .bytes = tensor.bytes(), .access = access};
}

void GraphRun::run(Phase phase, std::int64_t step) {
  LaunchContext context{.pool = &pool_, .product = &product_, .recipe = &graph_->recipe,
                        .rope_scaling = graph_->spec.rope_scaling, .step = step, .experts = &graph_->spec.experts};
  for (const Op& op : graph_->ops) {
    if (op.phase != phase) continue;
    context.block = op.block;
    std::vector<OperandView> operands;
    for (const Operand& operand : op.operands) operands.push_back(view(operand.tensor, operand.access));
    launch({.kind = op.kind, .dtype = op.dtype, .shape = op.shape}, operands, context);
    for (const Operand& operand : op.operands) {
      if (writes(operand.access)) round_to_bf16(operand.tensor);
    }
  }
}

void GraphRun::round_to_bf16(TensorId id) {
  const TensorId root = graph_->at(id).view_of.valid() ? graph_->at(id).view_of : id;
  if (stored_in_bf16_[root.index] == 0) return;
  for (float& value : values<float>(id)) value = float_from_bf16(bf16_from_float(value));
}

void GraphRun::store_in_bf16() {
  Recipe mixed = graph_->recipe;
  mixed.precision = Precision::kBf16Mixed;
  // Both graphs make the tensors of forward and backward in the same order.
  const Graph twin = build_training_graph(graph_->spec, mixed, {.workers = pool_.workers()});
  for (std::size_t i = 0; i < stored_in_bf16_.size(); ++i) {
    const bool passes = graph_->tensors[i].name == twin.tensors[i].name && graph_->tensors[i].dtype == DType::kFp32;
    stored_in_bf16_[i] = passes && twin.tensors[i].dtype == DType::kBf16 ? 1 : 0;
    const bool is_given = graph_->tensors[i].kind == TensorKind::kParameter || graph_->tensors[i].kind == TensorKind::kTokens;
    if (is_given && !graph_->tensors[i].view_of.valid()) round_to_bf16(TensorId(i));
  }
}

double GraphRun::run_step(std::int64_t step) {
  for (const Phase phase : {Phase::kForward, Phase::kBackward, Phase::kOptimizer}) run(phase, step);
  return loss();
}

double GraphRun::loss() {
  const auto is_loss = [](const Op& op) { return op.kind == OpKind::kCrossEntropy || op.kind == OpKind::kLoss; };
  const auto op = std::find_if(graph_->ops.begin(), graph_->ops.end(), is_loss);
  const std::size_t place = op->kind == OpKind::kLoss ? 2 : op->operands.size() - 1;
  double sum = values<double>(op->operands[place].tensor)[0];
  for (const Op& balance : graph_->ops) {
    if (balance.kind == OpKind::kExpertBalance) sum += values<double>(balance.operands.back().tensor)[0];
  }
  return sum;
}

std::vector<std::int32_t> GraphRun::routing() {
  std::vector<std::int32_t> all;
  for (const Op& op : graph_->ops) {
    if (op.kind != OpKind::kRouter) continue;
    const std::span<std::int32_t> of_block = values<std::int32_t>(op.operands[op.operands.size() - 2].tensor);
    all.insert(all.end(), of_block.begin(), of_block.end());
  }
  return all;
}

TensorId GraphRun::find(TensorKind kind, GroupId group) const {
  for (std::size_t i = 0; i < graph_->tensors.size(); ++i) {
    const Tensor& tensor = graph_->tensors[i];
    if (tensor.kind == kind && !tensor.view_of.valid() && tensor.group == group) return TensorId(i);
  }
  return {};
}

std::vector<double> GraphRun::numbers(TensorId id) {
  const auto widened = [&](auto stored, auto widen) {
    std::vector<double> all;
    for (const auto x : stored) all.push_back(static_cast<double>(widen(x)));
    return all;
  };
  const auto same = [](auto x) { return x; };
  switch (graph_->at(id).dtype) {
    case DType::kBf16: return widened(values<std::uint16_t>(id), float_from_bf16);
    case DType::kFp16: return widened(values<std::uint16_t>(id), float_from_fp16);
    case DType::kFp64: return widened(values<double>(id), same);
    default: return widened(values<float>(id), same);
  }
}

void GraphRun::put(TensorId id, std::int64_t element, double number) {
  const auto at = static_cast<std::size_t>(element);
  switch (graph_->at(id).dtype) {
    case DType::kBf16: values<std::uint16_t>(id)[at] = bf16_from_float(static_cast<float>(number)); break;
    case DType::kFp16: values<std::uint16_t>(id)[at] = fp16_from_float(static_cast<float>(number)); break;
    case DType::kFp64: values<double>(id)[at] = number; break;
    default: values<float>(id)[at] = static_cast<float>(number);
  }
}

void GraphRun::fill_parameters(std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.3F);
  const float norm_start = graph_->spec.norm == NormKind::kRmsNormPlusOne ? 0 : 1;
  const bool wide = graph_->recipe.precision == Precision::kFp64;
  for (std::uint32_t g = 0; g < graph_->parameters.groups.size(); ++g) {
    for (const ParameterTensor& tensor : graph_->parameters.groups[g].tensors) {
      for (std::int64_t i = tensor.offset; i < tensor.offset + tensor.elements(); ++i) {
        const bool asks = is_of_a_query(graph_->spec, tensor, i - tensor.offset);
        const float noise = normal(random) * (asks ? 1 / std::sqrt(static_cast<float>(graph_->spec.head_dim)) : 1);
        const float start = is_norm_weight(tensor.role) ? norm_start : 0;
        const double weight = wide ? static_cast<double>(noise) + static_cast<double>(start) : static_cast<double>(noise + start);
        for (const TensorKind kind : {TensorKind::kParameter, TensorKind::kMaster}) {
          if (const TensorId id = find(kind, GroupId(g)); id.valid()) put(id, i, weight);
        }
      }
    }
    for (const TensorKind moment : {TensorKind::kFirstMoment, TensorKind::kSecondMoment}) {
      const TensorId id = find(moment, GroupId(g));
      if (id.valid()) std::ranges::fill(std::span(view(id).data, static_cast<std::size_t>(view(id).bytes.count)), std::byte{0});
    }
  }
}

void GraphRun::initialize(std::uint32_t seed) {
  fill_parameters(seed);
  if (graph_->loss_scale.valid()) {
    const LossScale first = first_loss_scale(graph_->recipe.loss_scaling);
    std::memcpy(view(graph_->loss_scale).data, &first, sizeof(first));
  }
  fill_batch(seed + 1);
}

void GraphRun::fill_batch(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto draw = [&](std::int64_t low, std::int64_t high) {  // high counts
    return std::uniform_int_distribution<std::int32_t>(static_cast<std::int32_t>(low), static_cast<std::int32_t>(high))(random);
  };
  const std::int64_t least_label = graph_->spec.head == HeadKind::kClass ? 0 : -1;
  std::normal_distribution<float> normal;
  std::uint32_t part = 0;  // the graph's first tensors
  for (const BatchPart& of : batch_parts(graph_->spec, graph_->recipe)) {
    const TensorId id(part++);
    for (std::int64_t i = 0; i < of.elements; ++i) {
      const auto at = static_cast<std::size_t>(i);
      switch (of.kind) {
        case BatchPartKind::kPatches: put(id, i, static_cast<double>(normal(random))); break;
        case BatchPartKind::kTargets:
        case BatchPartKind::kTokens: values<std::int32_t>(id)[at] = draw(0, graph_->spec.vocabulary - 1); break;
        case BatchPartKind::kLabels: values<std::int32_t>(id)[at] = draw(least_label, graph_->spec.outputs() - 1); break;
        case BatchPartKind::kExtents: {
          const auto extents = values<std::int32_t>(id);
          extents[at] = i % 2 == 0 ? draw(1, graph_->recipe.sequence) : draw(0, extents[at - 1]);
        }
      }
    }
  }
}

void GraphRun::shift_batch(std::int32_t by) {
  const TensorId first(0u);
  if (graph_->spec.reads_images()) {
    const std::vector<double> pixels = numbers(first);
    for (std::size_t i = 0; i < pixels.size(); ++i) put(first, static_cast<std::int64_t>(i), pixels[i] + 0.01 * by);
    return;
  }
  const auto vocabulary = static_cast<std::int32_t>(graph_->spec.vocabulary);
  for (std::int32_t& token : values<std::int32_t>(first)) token = (token + by) % vocabulary;
}

}  // namespace plimsoll::test
