#include "sim/planner/chains/compare_chain_plans.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/planner/chains/chain_baselines.h"
#include "sim/planner/chains/chain_bound.h"

namespace plimsoll {
namespace {

Result<ChainPlan> replayed(const BlockChain& chain, std::string name, ChainSchedule schedule, Bytes budget) {
  const auto replay = replay_chain(chain, schedule);
  if (!replay) return fail(replay.error());
  return ChainPlan{std::move(name), std::move(schedule), *replay, replay->peak <= budget};
}

/// With the most inputs that fit, or with one.
Result<ChainPlan> revolved(const BlockChain& chain, Bytes budget) {
  constexpr std::size_t kWork = 40'000'000;  // blocks² times inputs
  const std::size_t blocks = chain.blocks.size();
  const Revolve table(chain, std::max<std::size_t>(1, kWork / (blocks * blocks)));
  for (std::size_t slots = table.most_slots();; --slots) {
    auto plan = replayed(chain, fmt::format("Revolve, {} {}", slots, slots == 1 ? "input" : "inputs"),
                         table.schedule(slots), budget);
    if (!plan || plan->fits || slots == 1) return plan;
  }
}

Result<void> add_baselines(const BlockChain& chain, ChainAnswer& answer) {
  Result<ChainPlan> plans[] = {replayed(chain, "keep everything", keep_everything(chain), answer.budget),
                               replayed(chain, "√n segments", square_root_segments(chain), answer.budget),
                               revolved(chain, answer.budget)};
  for (auto& plan : plans) {
    if (!plan) return fail(plan.error());
    answer.baselines.push_back(std::move(*plan));
  }
  return {};
}

}  // namespace

Result<ChainAnswer> compare_chain_plans(const BlockChain& chain, Bytes budget) {
  const ChainCurve curve(chain);
  ChainAnswer answer{
      .budget = budget, .lower_bound = chain_bound(chain, budget), .exact = curve.exact(), .curve = curve.steps()};
  if (const auto added = add_baselines(chain, answer); !added) return fail(added.error());
  if (step_at(answer.curve, budget) == nullptr) return answer;
  auto best = replayed(chain, "best", curve.schedule(budget), budget);
  if (!best) return fail(best.error());
  if (!best->fits) {
    return fail(
        {.kind = ErrorKind::kDefect,
         .what = fmt::format("the schedule holds {} bytes, its curve allows {}", best->replay.peak.count, budget.count),
         .where = "recompute",
         .remedy = {}});
  }
  answer.persistent_bound = best->replay.seconds;
  if (!answer.exact) {
    const ChainCurve bound(chain, {.way = Thinning::kBelow});
    answer.persistent_bound = step_at(bound.steps(), budget)->seconds;
  }
  answer.best = std::move(*best);
  return answer;
}

}  // namespace plimsoll
