// The part of StepLowering that computes again what was not kept.
#include <algorithm>

#include "core/graph/op_work.h"
#include "sim/planner/step_lowering.h"

namespace plimsoll {

void StepLowering::find_kept() {
  kept_.assign(graph_.tensors.size(), 0);
  if (plan_.strategy.kept_outputs == 0) return;
  for (std::int64_t block = 0; block < graph_.spec.blocks(); ++block) keep_best(needed_for_backward(block, block));
}

void StepLowering::keep_best(const std::vector<std::size_t>& recomputed) {
  const auto made = [&](const Operand& operand) {
    return operand.access == Access::kWrite && graph_.at(operand.tensor).kind == TensorKind::kActivation;
  };
  std::vector<std::pair<double, const Op*>> ops;  // arithmetic that a kept byte saves
  for (const std::size_t i : recomputed) {
    const Op& op = graph_.ops[i];
    double bytes = 0;
    for (const Operand& operand : op.operands) bytes += made(operand) ? static_cast<double>(graph_.at(operand.tensor).bytes().count) : 0;
    if (bytes > 0) ops.emplace_back(flops_of(op.kind, op.shape) / bytes, &op);
  }
  std::stable_sort(ops.begin(), ops.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  const auto count = std::min(ops.size(), static_cast<std::size_t>(plan_.strategy.kept_outputs));
  for (std::size_t k = 0; k < count; ++k) {
    for (const Operand& operand : ops[k].second->operands) {
      if (made(operand)) kept_[whole_of(operand.tensor).index] = 1;
    }
  }
}

std::vector<StepLowering::Run> StepLowering::recomputed_before(const Run& run) {
  const std::int64_t every = plan_.strategy.recompute_every;
  const bool starts_segment = run.block == graph_.spec.blocks() - 1 || (every > 0 && (run.block + 1) % every == 0);
  if (every == 0 || run.block < 0 || !starts_segment) return {};
  std::vector<Run> runs;
  std::vector<std::size_t> needed = needed_for_backward(run.block / every * every, run.block);
  if (every == 1 && !needed.empty())
    return {{.phase = Phase::kBackward, .block = run.block, .name = "recompute block", .ops = std::move(needed)}};
  for (const std::size_t i : needed) {
    const std::int64_t block = graph_.ops[i].block;
    if (runs.empty() || runs.back().block != block) {
      runs.push_back({.phase = Phase::kBackward, .block = block, .name = "recompute block", .ops = {}});
    }
    runs.back().ops.push_back(i);
  }
  return runs;
}

std::vector<std::size_t> StepLowering::needed_for_backward(std::int64_t first, std::int64_t last) {
  asked_for_.resize(graph_.tensors.size(), 0);
  ++question_;
  std::vector<std::size_t>& forward = forward_;
  forward.clear();
  for (const std::size_t r : runs_of(first, last)) {
    const Run& run = outline_.runs[r];
    if (run.phase == Phase::kForward) forward.insert(forward.end(), run.ops.begin(), run.ops.end());
    if (run.phase != Phase::kBackward) continue;
    for (const std::size_t i : run.ops) {
      for (const Operand& operand : graph_.ops[i].operands) {
        if (reads(operand.access)) asked_for_[whole_of(operand.tensor).index] = question_;
      }
    }
  }
  std::vector<std::size_t> kept;
  kept.reserve(forward.size());
  for (std::size_t k = forward.size(); k-- > 0;) {
    const Op& op = graph_.ops[forward[k]];
    const bool wanted = std::any_of(op.operands.begin(), op.operands.end(), [&](const Operand& operand) {
      const std::uint32_t tensor = whole_of(operand.tensor).index;
      return writes(operand.access) && asked_for_[tensor] == question_ && kept_[tensor] == 0;
    });
    if (!wanted) continue;
    kept.push_back(forward[k]);
    for (const Operand& operand : op.operands) {
      if (reads(operand.access)) asked_for_[whole_of(operand.tensor).index] = question_;
    }
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

}  // namespace plimsoll
