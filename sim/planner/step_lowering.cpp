#include "sim/planner/step_lowering.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace plimsoll {
namespace {

Kernel kernel_of(const Op& op) { return {op.kind, op.dtype, op.shape}; }

bool is_gradient(TensorKind kind) { return kind == TensorKind::kGradient || kind == TensorKind::kAccumulator; }

std::vector<std::size_t> ops_of(std::size_t first, std::size_t last) {
  std::vector<std::size_t> ops(last - first);
  std::iota(ops.begin(), ops.end(), first);
  return ops;
}

std::string_view name_of_run(Phase phase, std::int64_t block, bool first) {
  if (phase == Phase::kForward) return block >= 0 ? "forward block" : first ? "embedding" : "head and loss";
  return block >= 0 ? "backward block" : first ? "head backward" : "embedding backward";
}

}  // namespace

StepLowering::StepLowering(Plan& plan, BufferBook& book, const Places& places, const Graph& graph,
                           const std::vector<GroupState>& state)
    : plan_(plan), book_(book), places_(places), graph_(graph), state_(state), out_(plan, book) {
  current_.resize(graph.tensors.size());
  own_gradients_.resize(graph.parameters.groups.size());
  summed_gradients_.resize(graph.parameters.groups.size());
  const TensorKind summed = graph.recipe.accumulate > 1 ? TensorKind::kAccumulator : TensorKind::kGradient;
  for (std::uint32_t i = 0; i < graph.tensors.size(); ++i) {
    const Tensor& tensor = graph.tensors[i];
    if (tensor.view_of.valid()) continue;
    if (tensor.kind == TensorKind::kParameter && plan.strategy.parameters == Tier::kDevice) current_[i] = state[tensor.group.index].parameters;
    if (tensor.kind == TensorKind::kMaster) current_[i] = state[tensor.group.index].master;
    if (tensor.kind == TensorKind::kFirstMoment) current_[i] = state[tensor.group.index].first_moment;
    if (tensor.kind == TensorKind::kSecondMoment) current_[i] = state[tensor.group.index].second_moment;
    if (tensor.kind == TensorKind::kGradient) own_gradients_[tensor.group.index] = TensorId(i);
    if (tensor.kind == summed) summed_gradients_[tensor.group.index] = TensorId(i);
  }
  find_runs();
}

void StepLowering::find_runs() {
  for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
    const Op& op = graph_.ops[i];
    const bool joins = !runs_.empty() && runs_.back().phase == op.phase && runs_.back().block == op.block;
    if (joins) {
      runs_.back().last = i + 1;
    } else {
      runs_.push_back({op.phase, op.block, i, i + 1});
    }
  }
}

BufferId StepLowering::make_buffer(const Tensor& tensor, SpaceId space) {
  return book_.add({.name = tensor.block < 0 ? tensor.name : fmt::format("{} of block {}", tensor.name, tensor.block),
                    .space = space,
                    .bytes = tensor.bytes(),
                    .category = tensor.kind});
}

Range StepLowering::range_of(const Operand& operand, SpaceId space) {
  const Tensor& tensor = graph_.at(operand.tensor);
  const bool is_view = tensor.view_of.valid();
  const TensorId base = is_view ? tensor.view_of : operand.tensor;
  BufferId& buffer = current_[base.index];
  const bool fresh = !is_view && operand.access == Access::kWrite && !is_gradient(tensor.kind) &&
                     tensor.kind != TensorKind::kParameter;
  if (fresh || !buffer.valid()) buffer = make_buffer(graph_.at(base), space);
  return {buffer, Bytes(tensor.view_offset * size_of(tensor.dtype)), tensor.bytes()};
}

void StepLowering::write_op(const Op& op, std::uint32_t micro_batch) {
  const bool sums = op.kind == OpKind::kAccumulate;
  if (sums && plan_.strategy.gradients != Tier::kDevice) return;  // gradient_complete sums on the host
  const bool on_host = op.phase == Phase::kOptimizer && optimizer_on_host();
  std::vector<std::pair<Range, Access>> operands;
  for (const Operand& operand : op.operands) {
    const bool starts_sum = sums && operand.access == Access::kReadWrite && micro_batch == 0;
    operands.emplace_back(range_of(operand, on_host ? places_.host : places_.device),
                          starts_sum ? Access::kWrite : operand.access);
  }
  out_.launch(on_host ? places_.cpu : places_.compute, kernel_of(op), operands);
  if (op.kind == OpKind::kCrossEntropy || op.kind == OpKind::kLoss) losses_.push_back(operands[2].first.buffer);
  if (op.kind == OpKind::kClipFactor) clip_factor_ = operands[1].first.buffer;
}

void StepLowering::load_tokens(std::uint32_t micro_batch) {
  out_.begin_segment("load", micro_batch, -1);
  out_.set_phase(Phase::kLoad);
  const TensorId tokens(0u);  // the graph's first tensor
  const auto make = [&](SpaceId space) {
    return book_.add({.name = fmt::format("tokens of micro-batch {}", micro_batch),
                      .space = space,
                      .bytes = graph_.at(tokens).bytes(),
                      .category = TensorKind::kTokens,
                      .slots = 2});
  };
  const BufferId host = make(places_.host);
  const BufferId device = make(places_.device);
  out_.host_work(places_.data, HostTask::kLoadTokens, {{out_.whole(host), Access::kWrite}});
  out_.copy(places_.h2d, InstructionKind::kCopy, out_.whole(host), out_.whole(device));
  current_[tokens.index] = device;
}

void StepLowering::write_forward(std::uint32_t micro_batch) {
  for (std::size_t r = 0; r < runs_.size() && runs_[r].phase == Phase::kForward; ++r) {
    const std::vector<std::size_t> ops = ops_of(runs_[r].first, runs_[r].last);
    begin_run(std::string(name_of_run(Phase::kForward, runs_[r].block, r == 0)), micro_batch, runs_[r].block, Phase::kForward, ops);
    for (const std::size_t i : ops) write_op(graph_.ops[i], micro_batch);
  }
}

void StepLowering::write_backward(std::uint32_t micro_batch) {
  for (std::size_t i = 0; i < current_.size(); ++i) {
    if (graph_.tensors[i].kind == TensorKind::kGradient) current_[i] = {};
  }
  bool first = true;
  for (const Run& run : runs_) {
    if (run.phase != Phase::kBackward) continue;
    if (run.block >= 0) recompute_up_to(run.block, micro_batch);
    const std::vector<std::size_t> ops = ops_of(run.first, run.last);
    begin_run(std::string(name_of_run(Phase::kBackward, run.block, first)), micro_batch, run.block, Phase::kBackward, ops);
    for (const std::size_t i : ops) write_op(graph_.ops[i], micro_batch);
    const ParameterLayout& layout = graph_.parameters;
    gradient_complete(run.block >= 0 ? layout.block(run.block) : first ? layout.head() : layout.embedding(), micro_batch);
    first = false;
  }
}

void StepLowering::recompute_up_to(std::int64_t block, std::uint32_t micro_batch) {
  const std::int64_t every = plan_.strategy.recompute_every;
  const bool enters = every > 0 && (block == graph_.spec.layers - 1 || (block + 1) % every == 0);
  if (!enters) return;
  std::map<std::int64_t, std::vector<std::size_t>> by_block;
  for (const std::size_t i : needed_for_backward(block / every * every, block)) by_block[graph_.ops[i].block].push_back(i);
  for (const auto& [recomputed, ops] : by_block) {
    begin_run("recompute block", micro_batch, recomputed, Phase::kBackward, ops);
    for (const std::size_t i : ops) write_op(graph_.ops[i], micro_batch);
  }
}

std::vector<std::size_t> StepLowering::needed_for_backward(std::int64_t first, std::int64_t last) const {
  std::vector<char> needed(graph_.tensors.size(), 0);
  std::vector<std::size_t> forward;
  for (const Run& run : runs_) {
    if (run.block < first || run.block > last || run.phase == Phase::kOptimizer) continue;
    for (std::size_t i = run.first; i < run.last; ++i) {
      if (run.phase == Phase::kForward) forward.push_back(i);
      for (const Operand& operand : graph_.ops[i].operands) {
        if (run.phase == Phase::kBackward && reads(operand.access)) needed[operand.tensor.index] = 1;
      }
    }
  }
  std::vector<std::size_t> kept;
  for (std::size_t k = forward.size(); k-- > 0;) {
    const Op& op = graph_.ops[forward[k]];
    const bool wanted = std::any_of(op.operands.begin(), op.operands.end(), [&](const Operand& operand) {
      return writes(operand.access) && needed[operand.tensor.index] != 0;
    });
    if (!wanted) continue;
    kept.push_back(forward[k]);
    for (const Operand& operand : op.operands) {
      if (reads(operand.access)) needed[operand.tensor.index] = 1;
    }
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

void StepLowering::rotate(std::deque<BufferId>& recent, BufferId newest) {
  recent.push_back(newest);
  if (recent.size() > static_cast<std::size_t>(plan_.strategy.staging_slots)) recent.pop_front();
  for (const BufferId buffer : recent) book_.touch(buffer, out_.next_id() - 1);
}

BufferId StepLowering::fetch_to_host(BufferId device_buffer) {
  const Buffer from = plan_.at(device_buffer);
  const BufferId host = book_.add({.name = from.name, .space = places_.host, .bytes = from.bytes, .category = from.category});
  out_.copy(places_.d2h, InstructionKind::kCopy, out_.whole(device_buffer), out_.whole(host));
  return host;
}

void StepLowering::report(std::uint32_t micro_batches) {
  out_.begin_segment("report", 0, -1);
  out_.set_phase(Phase::kOptimizer);
  std::vector<std::pair<Range, Access>> operands;
  for (std::uint32_t m = 0; m < micro_batches; ++m) {
    operands.emplace_back(out_.whole(fetch_to_host(losses_[m])), Access::kRead);
  }
  if (clip_factor_.valid()) {
    const bool on_device = plan_.at(clip_factor_).space == places_.device;
    operands.emplace_back(out_.whole(on_device ? fetch_to_host(clip_factor_) : clip_factor_), Access::kRead);
  }
  out_.host_work(places_.report, HostTask::kReportLoss, operands);
}

void StepLowering::write_step() {
  const auto micro_batches = static_cast<std::uint32_t>(graph_.recipe.accumulate);
  for (std::uint32_t m = 0; m < micro_batches; ++m) {
    load_tokens(m);
    write_forward(m);
    write_backward(m);
  }
  write_optimizer();
  report(micro_batches);
}

void StepLowering::write_evaluation() {
  load_tokens(0);
  write_forward(0);
  report(1);
}

}  // namespace plimsoll
