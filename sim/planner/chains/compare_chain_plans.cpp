#include "sim/planner/chains/compare_chain_plans.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/planner/chains/chain_baselines.h"
#include "sim/planner/chains/chain_bound.h"
#include "sim/planner/chains/chain_curve.h"

namespace plimsoll {
namespace {

/// Steps of all curves together, about: blocks³ times steps of one. So much takes some seconds on two cores.
constexpr double kMostWork = 3e10;

double work_of(const BlockChain& chain, std::size_t steps) {
  const auto blocks = static_cast<double>(chain.blocks.size());
  return blocks * blocks * blocks * static_cast<double>(steps);
}

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

std::size_t most_options(const BlockChain& chain) {
  std::size_t most = 0;
  for (const ChainBlock& block : chain.blocks) most = std::max(most, block.options.size());
  return most;
}

/// Every block by the option of one number (the last one of blocks that have fewer), nothing passed: the fastest that fits, or
/// the smallest.
Result<ChainPlan> same_option(const BlockChain& chain, Bytes budget) {
  std::optional<ChainPlan> best;
  for (std::uint32_t k = 0; k < most_options(chain); ++k) {
    ChainSchedule schedule;
    for (std::size_t i = 0; i < chain.blocks.size(); ++i) {
      const auto last = static_cast<std::uint32_t>(chain.blocks[i].options.size() - 1);
      schedule.push_back({ChainWork::kSave, ChainBlockId(i), std::min(k, last)});
    }
    for (std::size_t i = chain.blocks.size(); i-- > 0;) schedule.push_back({ChainWork::kBackward, ChainBlockId(i)});
    auto plan = replayed(chain, "same option in each block", std::move(schedule), budget);
    if (!plan) return plan;
    const bool better = !best || (plan->fits ? !best->fits || plan->replay.seconds < best->replay.seconds
                                             : !best->fits && plan->replay.peak < best->replay.peak);
    if (better) best = std::move(*plan);
  }
  return *best;
}

Result<void> add_baselines(const BlockChain& chain, ChainAnswer& answer) {
  Result<ChainPlan> plans[] = {replayed(chain, "keep everything", keep_everything(chain), answer.budget),
                               replayed(chain, "√n segments", square_root_segments(chain), answer.budget),
                               revolved(chain, answer.budget)};
  for (auto& plan : plans) {
    if (!plan) return fail(plan.error());
    answer.baselines.push_back(std::move(*plan));
  }
  if (most_options(chain) < 2) return {};
  auto same = same_option(chain, answer.budget);
  if (!same) return fail(same.error());
  answer.baselines.push_back(std::move(*same));
  return {};
}

/// Whether no schedule that keeps what it keeps can be faster, as far as sums of seconds mean anything.
bool is_best(const ChainPlan& best, const ChainAnswer& answer) {
  constexpr double kSame = 1e-9;
  return *answer.persistent_bound >= best.replay.seconds * (1 - kSame);
}

/// A curve that was thinned for all budgets, again for this one alone: with what the best known schedule rules out left out,
/// there is room for more steps, and fewer are needed the better it is known.
Result<void> look_closer(const BlockChain& chain, Bytes budget, ChainPlan& best, ChainAnswer& answer) {
  const ChainCurve below_all(chain, {.way = Thinning::kBelow});
  answer.persistent_bound = step_at(below_all.steps(), budget)->seconds;
  for (const std::size_t steps : {std::size_t{4096}, std::size_t{16384}, std::size_t{65536}}) {
    if (is_best(best, answer) || work_of(chain, steps) > kMostWork) break;
    const ChainCurveLimits limits{.most_steps = steps, .most_bytes = budget, .most_seconds = best.replay.seconds};
    const ChainCurve closer(chain, limits);
    if (const CurveStep* step = step_at(closer.steps(), budget); step != nullptr && step->seconds < best.replay.seconds) {
      auto plan = replayed(chain, "best", closer.schedule(budget), budget);
      if (!plan) return fail(plan.error());
      if (plan->fits && plan->replay.seconds < best.replay.seconds) best = std::move(*plan);
    }
    if (closer.exact()) {
      answer.persistent_bound = best.replay.seconds;
      break;
    }
    ChainCurveLimits below = limits;
    below.way = Thinning::kBelow;
    const ChainCurve bound(chain, below);
    const CurveStep* step = step_at(bound.steps(), budget);
    const double least = step == nullptr ? best.replay.seconds : std::min(best.replay.seconds, step->seconds);
    answer.persistent_bound = std::max(*answer.persistent_bound, least);
  }
  answer.exact = is_best(best, answer);
  return {};
}

}  // namespace

Result<ChainAnswer> compare_chain_plans(const BlockChain& chain, const ChainCurve& curve, Bytes budget) {
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
    if (const auto closer = look_closer(chain, budget, *best, answer); !closer) return fail(closer.error());
  }
  answer.best = std::move(*best);
  return answer;
}

}  // namespace plimsoll
