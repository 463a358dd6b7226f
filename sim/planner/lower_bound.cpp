#include "sim/planner/lower_bound.h"

#include <algorithm>
#include <map>

#include "core/graph/graph.h"
#include "core/plan/expand.h"
#include "sim/des/work_table.h"
#include "sim/planner/pack_arena.h"
#include "sim/planner/placement_bound.h"

namespace plimsoll {
namespace {

Result<Nanoseconds> compute_floor(const Plan& plan, const Graph& graph, const CostModel& costs) {
  const auto compute = plan.platform.queue("compute");
  if (!compute) return fail({.kind = ErrorKind::kInput, .what = "the platform has no queue 'compute'"});
  const Processor& processor = plan.platform.at(plan.platform.at(*compute).processor);
  std::map<Kernel, Nanoseconds> known;  // blocks repeat their kernels, and a cost is looked up slowly
  Nanoseconds micro_batch;
  for (const Op& op : graph.ops) {
    if (op.phase != Phase::kForward && op.phase != Phase::kBackward) continue;
    if (op.kind == OpKind::kAccumulate) continue;  // may run on the CPU
    const auto [entry, is_new] = known.try_emplace(Kernel{op.kind, op.dtype, op.shape});
    if (is_new) {
      const auto cost = costs.kernel(processor, entry->first);
      if (!cost) return fail(cost.error());
      entry->second = cost->median;
    }
    micro_batch += entry->second;
  }
  return micro_batch * plan.recipe.accumulate;
}

Bytes device_floor(const Plan& plan) {
  const Body* step = plan.body("step");
  const auto device = plan.platform.space(SpaceKind::kDevice);
  if (step == nullptr || !device) return Bytes(0);
  const FlatBody body = expand(plan, *step);
  std::vector<Lifespan> lives(plan.buffers.size(), {0xffffffffu, 0});
  for (std::uint32_t i = 0; i < body.size(); ++i) {
    for (const Use& use : body.uses(body.list.instructions[i])) {
      lives[use.target] = {std::min(lives[use.target].begin, i), std::max(lives[use.target].end, i + 1)};
    }
  }
  std::vector<PackItem> items;
  Bytes held;
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& buffer = plan.buffers[i];
    if (buffer.space != *device) continue;
    if (buffer.persistent || buffer.slots > 1) held += buffer.bytes * buffer.slots;
    else if (lives[i].begin < lives[i].end) items.push_back({lives[i], buffer.bytes});
  }
  return held + load_bound(items, Bytes(1));
}

}  // namespace

Result<std::vector<double>> queue_loads(const Plan& plan, const FlatBody& step, const CostModel& costs) {
  const auto works = cost_instructions(plan, step, costs);
  if (!works) return fail(works.error());
  std::vector<double> busy(plan.platform.queues.size(), 0.0), used(plan.platform.resources.size(), 0.0);
  for (std::uint32_t i = 0; i < step.size(); ++i) {
    const Instruction& instruction = step.list.instructions[i];
    if (instruction.guard != kNoGuard) continue;
    const Work& work = works->of(i);
    const auto duration = static_cast<double>(work.duration.count);
    busy[instruction.queue.index] += duration / static_cast<double>(plan.platform.at(instruction.queue).width);
    for (const Demand& demand : work.demands) used[demand.resource.index] += duration * demand.amount;
  }
  for (std::size_t r = 0; r < used.size(); ++r) {
    const double capacity = plan.platform.resources[r].capacity;
    if (capacity > 0) busy.push_back(used[r] / capacity);
  }
  return busy;
}

Result<Nanoseconds> queue_bound(const Plan& plan, const FlatBody& step, const CostModel& costs) {
  const auto busy = queue_loads(plan, step, costs);
  if (!busy) return fail(busy.error());
  const double most = *std::max_element(busy->begin(), busy->end());
  return Nanoseconds(static_cast<std::int64_t>(most * (1 - 1e-6)));  // ends are rounded to nanoseconds
}

Result<LowerBound> lower_bound(const Plan& plan, const CostModel& costs, const StepOdds& odds) {
  const Graph graph = build_training_graph(plan.spec, plan.recipe);
  const auto compute = compute_floor(plan, graph, costs);
  if (!compute) return fail(compute.error());
  const auto update = placement_bound(plan, graph, costs, *compute);
  if (!update) return fail(update.error());
  const double most = static_cast<double>((*update - *compute).count) * (1 - odds.skips);  // what skips updates nothing
  return LowerBound{*compute + Nanoseconds(static_cast<std::int64_t>(most)), device_floor(plan)};
}

}  // namespace plimsoll
