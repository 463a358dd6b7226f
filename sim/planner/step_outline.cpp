#include "sim/planner/step_outline.h"

namespace plimsoll {
namespace {

std::string_view name_of_run(Phase phase, std::int64_t block, bool first) {
  if (phase == Phase::kForward) return block >= 0 ? "forward block" : first ? "embedding" : "head and loss";
  return block >= 0 ? "backward block" : first ? "head backward" : "embedding backward";
}

}  // namespace

TensorKind summed_kind(const Graph& graph) {
  return graph.recipe.accumulate > 1 ? TensorKind::kAccumulator : TensorKind::kGradient;
}

StepOutline::StepOutline(const Graph& graph) {
  whole.reserve(graph.tensors.size());
  for (std::uint32_t i = 0; i < graph.tensors.size(); ++i)
    whole.push_back(graph.tensors[i].view_of.valid() ? graph.tensors[i].view_of : TensorId(i));
  summed_gradients.resize(graph.parameters.groups.size());
  for (std::uint32_t i = 0; i < graph.tensors.size(); ++i) {
    const Tensor& tensor = graph.tensors[i];
    if (tensor.view_of.valid() || !tensor.group.valid()) continue;
    if (tensor.kind == TensorKind::kParameter) parameters.push_back({TensorId(i), tensor.group});
    if (tensor.kind == summed_kind(graph)) summed_gradients[tensor.group.index] = TensorId(i);
  }
  find_optimizer(graph);
  find_runs(graph);
  find_completing_runs(graph);
}

void StepOutline::find_optimizer(const Graph& graph) {
  update_ops.resize(graph.parameters.groups.size());
  for (const Op& op : graph.ops) {
    if (is_update(op.kind)) update_ops[graph.at(op.operands[0].tensor).group.index].push_back(&op);
    const bool sums = op.kind == OpKind::kAccumulate || op.kind == OpKind::kSquaredNorm;
    if (op.phase != Phase::kOptimizer || !sums) continue;
    once_a_step[whole[op.operands[op.kind == OpKind::kAccumulate ? 1 : 0].tensor.index]].push_back(&op);
  }
}

void StepOutline::find_runs(const Graph& graph) {
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    if (op.phase == Phase::kOptimizer) break;
    const bool starts_phase = runs.empty() || runs.back().phase != op.phase;
    if (starts_phase || runs.back().block != op.block)
      runs.push_back({.phase = op.phase, .block = op.block, .name = name_of_run(op.phase, op.block, starts_phase), .ops = {}});
    runs.back().ops.push_back(i);
    if (op.phase == Phase::kForward) turn = runs.size() - 1;
  }
  for (std::size_t i = 1; i + 1 < runs.size(); ++i) {
    StepRun& run = runs[i];
    const bool inside = runs[i - 1].phase == run.phase && runs[i + 1].phase == run.phase;
    if (run.block < 0 && inside) run.name = run.phase == Phase::kForward ? "encoder output" : "encoder output backward";
  }
  runs_of_block.resize(static_cast<std::size_t>(graph.spec.blocks()));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::int64_t block = runs[i].block;
    if (block >= 0 && block < graph.spec.blocks()) runs_of_block[static_cast<std::size_t>(block)].push_back(i);
  }
}

void StepOutline::find_completing_runs(const Graph& graph) {
  std::map<TensorId, StepRun*> last_writer;
  for (StepRun& run : runs) {
    for (const std::size_t i : run.ops) {
      for (const Operand& operand : graph.ops[i].operands) {
        if (graph.at(operand.tensor).kind == summed_kind(graph)) last_writer[whole[operand.tensor.index]] = &run;
      }
    }
  }
  for (const auto& [sum, run] : last_writer) run->completes.push_back(sum);
}

}  // namespace plimsoll
