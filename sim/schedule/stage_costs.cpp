#include "sim/schedule/stage_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace plimsoll {
namespace {

constexpr double kLargestCost = 1e9;
constexpr double kLargestMakespan = 4e18;  ///< ticks; below 2^62, so that sums of two fit
constexpr int kMostDigits = 9;             ///< decimals of the user's unit that are kept

Result<void> check_cost(const RankCosts& costs) {
  const double all[] = {costs.forward, costs.input_gradient, costs.weight_gradient, costs.hop};
  for (const double cost : all) {
    if (cost >= 0 && cost <= kLargestCost) continue;
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("a time of {}", cost),
                 .where = "--costs",
                 .remedy = fmt::format("times lie between 0 and {}", kLargestCost)});
  }
  if (all[0] + all[1] + all[2] > 0) return {};
  return fail({.kind = ErrorKind::kInput,
               .what = "a stage that takes no time at all",
               .where = "--costs",
               .remedy = "give the forward, input-gradient and weight-gradient times"});
}

double total(const RankCosts& costs) {
  return costs.forward + costs.input_gradient + costs.weight_gradient + 2 * costs.hop;
}

/// Ticks per unit: as many decimals as leave room for all ops one after another.
double finest_ticks(double work_of_micro_batch, std::uint32_t micro_batches, double multiple) {
  double ticks = multiple;
  for (int digit = 0; digit < kMostDigits; ++digit) {
    if (work_of_micro_batch * micro_batches * ticks * 10 > kLargestMakespan) break;
    ticks *= 10;
  }
  return ticks;
}

StageCost in_ticks(const RankCosts& costs, double stage_ticks, double hop_ticks) {
  const auto rounded = [](double value) { return Ticks(std::llround(value)); };
  return {rounded(costs.forward * stage_ticks), rounded(costs.input_gradient * stage_ticks),
          rounded(costs.weight_gradient * stage_ticks), rounded(costs.hop * hop_ticks)};
}

}  // namespace

Ticks StageCosts::of(const PipelineOp& op) const {
  const StageCost& cost = stages[op.stage.index];
  switch (op.work) {
    case PipelineWork::kForward:
      return cost.forward;
    case PipelineWork::kBackward:
      return cost.input_gradient + cost.weight_gradient;
    case PipelineWork::kInputGradient:
      return cost.input_gradient;
    case PipelineWork::kWeightGradient:
      return cost.weight_gradient;
  }
  return {};
}

Ticks StageCosts::of_pair(const PipelineOp& forward, const PipelineOp& with) const {
  return Ticks(std::llround(static_cast<double>((of(forward) + of(with)).count) * pair_share));
}

Result<StageCosts> even_costs(const RankCosts& costs, const PipelineShape& shape) {
  if (auto sound = check_cost(costs); !sound) return fail(sound.error());
  const std::uint32_t common = std::gcd(shape.ranks, shape.stages);
  const double multiple = shape.stages / common;  // a stage's share of a rank's time is then a whole number of ticks
  StageCosts even;
  even.ticks_per_unit = finest_ticks(total(costs) * shape.stages, shape.micro_batches, multiple);
  const double stage_ticks = even.ticks_per_unit / multiple * (shape.ranks / common);
  even.stages.assign(shape.stages, in_ticks(costs, stage_ticks, even.ticks_per_unit));
  return even;
}

Result<StageCosts> uneven_costs(const std::vector<RankCosts>& per_stage, const PipelineShape& shape) {
  if (per_stage.size() != shape.stages) {
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("costs of {} stages, where the schedule has {}", per_stage.size(), shape.stages),
                 .where = "--costs",
                 .remedy = "write one row for each stage"});
  }
  double work = 0;
  for (const RankCosts& costs : per_stage) {
    if (auto sound = check_cost(costs); !sound) return fail(sound.error());
    work += total(costs);
  }
  StageCosts uneven;
  uneven.ticks_per_unit = finest_ticks(work, shape.micro_batches, 1);
  for (const RankCosts& costs : per_stage) {
    uneven.stages.push_back(in_ticks(costs, uneven.ticks_per_unit, uneven.ticks_per_unit));
  }
  return uneven;
}

}  // namespace plimsoll
