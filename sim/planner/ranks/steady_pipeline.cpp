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
  return rule == WeightRule::kVerticalSync ? ahead.front() : ahead[place];
}

/// PipeDream (Narayanan et al., SOSP 2019, section 3.3): each stage the newest it has, or with vertical sync what the first stage
/// had. PipeDream-2BW (Narayanan et al., ICML 2021, section 3.1): all micro-batches of step s see W(s − 1).
std::uint32_t SteadyPipeline::forward_lag(std::uint32_t place, std::uint32_t q) const {
  if (rule == WeightRule::kDoubleBuffered) return q < micro_batches ? 1 : 0;
  return rule == WeightRule::kVerticalSync ? ahead.front() - ahead[place] : 0;
}

std::uint32_t SteadyPipeline::backward_lag(std::uint32_t place) const { return older_versions(place); }

/// The update of step b arrives in step b and makes version b + 1.
std::uint32_t SteadyPipeline::shared_lag() const {
  return rule == WeightRule::kDoubleBuffered ? 2 : ahead.front() + 1;
}

std::uint32_t micro_batches_of_step(const PipelineSchedule& schedule) {
  const bool each = schedule.weights == WeightRule::kStash || schedule.weights == WeightRule::kVerticalSync;
  return each ? 1 : schedule.micro_batches;
}

SteadyPipeline steady_pipeline(const PipelineSchedule& schedule) {
  SteadyPipeline steady{.rule = schedule.weights, .micro_batches = micro_batches_of_step(schedule), .ahead = {}};
  for (const auto& order : schedule.orders) {
    const auto backward =
        std::find_if(order.begin(), order.end(), [](const PipelineOp& op) { return op.work != PipelineWork::kForward; });
    steady.ahead.push_back(static_cast<std::uint32_t>(backward - order.begin()) - 1);
  }
  return steady;
}

}  // namespace plimsoll
