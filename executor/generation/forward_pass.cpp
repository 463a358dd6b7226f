#include "executor/generation/forward_pass.h"

#include <algorithm>
#include <map>

#include "core/graph/logits_graph.h"
#include "executor/generation/cached_attention.h"

namespace plimsoll {
namespace {

/// Of one sequence of `rows` tokens.
Recipe recipe_of(std::int64_t rows) { return {.precision = Precision::kFp32, .sequence = rows}; }

/// Where the ops behind the last block begin.
auto behind_blocks(std::vector<Op>& ops) {
  const auto last_of_a_block = std::find_if(ops.rbegin(), ops.rend(), [](const Op& op) { return op.block >= 0; });
  return last_of_a_block.base();
}

}  // namespace

ForwardPass::ForwardPass(const ModelSpec& spec, std::int64_t rows, bool with_logits, std::int64_t workers)
    : graph_(build_logits_graph(spec, recipe_of(rows), workers)) {
  tokens_ = graph_.ops.front().operands.front().tensor;
  logits_ = with_logits ? graph_.ops.back().operands.back().tensor : TensorId();
  if (!with_logits) graph_.ops.erase(behind_blocks(graph_.ops), graph_.ops.end());
  place_tensors();
}

/// Walks the ops in order: a tensor takes a slot of its size when it is first used and leaves it after its last use.
void ForwardPass::place_tensors() {
  const auto root = [&](TensorId id) { return graph_.at(id).view_of.valid() ? graph_.at(id).view_of : id; };
  std::vector<std::size_t> last_use(graph_.tensors.size(), 0);
  for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
    for (const Operand& operand : graph_.ops[i].operands) last_use[root(operand.tensor).index] = i;
  }
  constexpr std::size_t kNone = SIZE_MAX;
  slot_of_.assign(graph_.tensors.size(), kNone);
  std::multimap<std::int64_t, std::size_t> free;
  for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
    for (const Operand& operand : graph_.ops[i].operands) {
      const TensorId id = root(operand.tensor);
      if (graph_.at(id).kind == TensorKind::kParameter || slot_of_[id.index] != kNone) continue;
      const std::int64_t bytes = graph_.at(id).bytes().count;
      if (const auto found = free.find(bytes); found != free.end()) {
        slot_of_[id.index] = found->second;
        free.erase(found);
      } else {
        slot_of_[id.index] = slots_.size();
        slots_.emplace_back(static_cast<std::size_t>((bytes + 7) / 8));
      }
    }
    for (std::size_t t = 0; t < last_use.size(); ++t) {
      if (last_use[t] != i || slot_of_[t] == kNone || TensorId(t) == logits_) continue;
      free.emplace(graph_.tensors[t].bytes().count, slot_of_[t]);
    }
  }
}

OperandView ForwardPass::view(TensorId id, Access access, const GroupWeights& weights) {
  const Tensor& tensor = graph_.at(id);
  const TensorId root = tensor.view_of.valid() ? tensor.view_of : id;
  auto* start = tensor.kind == TensorKind::kParameter ? reinterpret_cast<std::byte*>(weights[tensor.group.index].data())
                                                      : reinterpret_cast<std::byte*>(slots_[slot_of_[root.index]].data());
  return {.data = start + tensor.view_offset * size_of(tensor.dtype), .bytes = tensor.bytes(), .access = access};
}

void ForwardPass::run_op(const Op& op, const GroupWeights& weights, KeyValueCache& cache, const LaunchContext& context) {
  std::vector<OperandView> operands;
  for (const Operand& operand : op.operands) operands.push_back(view(operand.tensor, operand.access, weights));
  Kernel kernel{.kind = op.kind, .dtype = op.dtype, .shape = op.shape};
  switch (op.kind) {
    case OpKind::kAttention:
      cached_attention(op.shape, cache.tokens, reinterpret_cast<const float*>(operands[0].data),
                       cache.blocks[static_cast<std::size_t>(op.block)], reinterpret_cast<float*>(operands[1].data), *context.pool);
      return;
    case OpKind::kRope:
      kernel.shape.positions = cache.tokens;
      break;
    case OpKind::kEmbedding:
      if (op.shape.positions > 0) operands[2].data += cache.tokens * op.shape.inputs * static_cast<std::int64_t>(sizeof(float));
      break;
    default:
      break;
  }
  launch(kernel, operands, context);
}

std::span<const float> ForwardPass::run(std::span<const std::int32_t> tokens, const GroupWeights& weights, KeyValueCache& cache,
                                        LaunchContext context) {
  context.recipe = &graph_.recipe;
  context.rope_scaling = graph_.spec.rope_scaling;
  context.experts = &graph_.spec.experts;
  std::copy(tokens.begin(), tokens.end(), reinterpret_cast<std::int32_t*>(view(tokens_, Access::kWrite, weights).data));
  for (const Op& op : graph_.ops) run_op(op, weights, cache, context);
  cache.tokens += static_cast<std::int64_t>(tokens.size());
  if (!logits_.valid()) return {};
  const OperandView logits = view(logits_, Access::kRead, weights);
  return {reinterpret_cast<const float*>(logits.data), static_cast<std::size_t>(graph_.at(logits_).elements)};
}

}  // namespace plimsoll
