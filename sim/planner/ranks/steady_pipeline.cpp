#include "sim/planner/ranks/steady_pipeline.h"

#include <algorithm>

namespace plimsoll {

std::uint32_t SteadyPipeline::age(std::uint32_t q, std::uint32_t offset) const {
  return q >= offset ? 0 : (offset - q + micro_batches - 1) / micro_batches;
}

std::uint32_t SteadyPipeline::forward_number(std::uint32_t q, std::uint32_t place) const {
  const std::uint32_t first = ahead[place], place_in_step = q % micro_batches;
  const std::uint32_t begins_at = first % micro_batches;
  return first + (place_in_step + micro_batches - begins_at) % micro_batches;
}

std::uint32_t SteadyPipeline::older_versions(std::uint32_t place) const {
  if (rule == WeightRule::kDoubleBuffered) return 1;
  std::uint32_t most = 0;
  for (std::uint32_t q = 0; q < micro_batches; ++q) most = std::max(most, backward_lag(place, q));
  return most;
}

/// PipeDream (Narayanan et al., SOSP 2019, section 3.3): each stage the newest it has, or with vertical sync what the first stage
/// had. PipeDream-2BW (Narayanan et al., ICML 2021, section 3.1): all micro-batches of step s see W(s − 1).
std::uint32_t SteadyPipeline::forward_lag(std::uint32_t place, std::uint32_t q) const {
  if (rule == WeightRule::kDoubleBuffered) return q < micro_batches ? 1 : 0;
  return backward_lag(place, q) - ahead[place] / stride(place);
}

/// Where micro-batches go round r ranks, update u of a place takes in those of [u r, u r + r). With vertical sync a
/// place takes the newest version without a micro-batch that the first place's version was without.
std::uint32_t SteadyPipeline::backward_lag(std::uint32_t place, std::uint32_t q) const {
  if (rule == WeightRule::kDoubleBuffered) return 1;
  const std::uint32_t own = stride(place), first = stride(0);
  if (rule == WeightRule::kStash) return ahead[place] / own;
  const std::uint32_t now = q + micro_batches * ahead.front();  // as many steps later, lest what was seen be negative
  const std::uint32_t seen = now / first * first - ahead.front();
  return now / own - seen / own;
}

/// The update of step b arrives in step b and makes version b + 1.
std::uint32_t SteadyPipeline::shared_lag() const {
  return rule == WeightRule::kDoubleBuffered ? 2 : ahead.front() + 1;
}

std::uint32_t micro_batches_of_step(const PipelineSchedule& schedule) {
  if (schedule.goes_round()) return static_cast<std::uint32_t>(common_round(schedule.replicas));
  const bool each = schedule.weights == WeightRule::kStash || schedule.weights == WeightRule::kVerticalSync;
  return each ? 1 : schedule.micro_batches;
}

SteadyPipeline steady_pipeline(const PipelineSchedule& schedule) {
  SteadyPipeline steady{.rule = schedule.weights,
                        .micro_batches = micro_batches_of_step(schedule),
                        .ahead = {},
                        .replicas = schedule.replicas};
  for (std::uint32_t place = 0; place < schedule.ranks_of_model(); ++place) {
    const auto& order = schedule.orders[schedule.goes_round() ? first_rank_of(schedule.replicas, place) : place];
    const auto backward =
        std::find_if(order.begin(), order.end(), [](const PipelineOp& op) { return op.work != PipelineWork::kForward; });
    steady.ahead.push_back((static_cast<std::uint32_t>(backward - order.begin()) - 1) * steady.stride(place));
  }
  return steady;
}

}  // namespace plimsoll
