#include "gui/pipelines/pipeline_choices.h"

#include "core/schedule/verify_schedule.h"
#include "formats/schedules/schedule_file.h"
#include "sim/schedule/make_schedule.h"
#include "sim/schedule/stage_memory.h"

namespace plimsoll::gui {
namespace {

ScheduleRequest request_of(const PipelineChoices& choices) {
  ScheduleRequest request{.name = choices.schedule.toStdString(),
                          .ranks = static_cast<std::uint32_t>(choices.ranks),
                          .micro_batches = static_cast<std::uint32_t>(choices.micro_batches)};
  if (choices.chunks > 0) request.chunks = static_cast<std::uint32_t>(choices.chunks);
  const bool can_overlap = request.name == "dualpipe" || request.name == "dualpipe-v";
  request.overlapped = choices.overlapped && can_overlap;
  request.costs = {choices.forward, choices.input_gradient, choices.weight_gradient, choices.hop};
  return request;
}

}  // namespace

std::size_t TimedPipeline::ops() const {
  std::size_t count = 0;
  for (const auto& order : schedule.orders) count += order.size();
  return count;
}

Result<TimedPipeline> time_pipeline(const PipelineChoices& choices) {
  const ScheduleRequest request = request_of(choices);
  auto schedule = choices.file.isEmpty() ? make_schedule(request) : read_schedule_file(choices.file.toStdString());
  if (!schedule) return fail(schedule.error());
  if (const auto verified = verify_schedule(*schedule); !verified) {
    Error error = verified.error();
    const std::string file = choices.file.toStdString();  // which is also what orders without a name are called
    if (!file.empty() && error.where != file) error.where = file + (error.where.empty() ? "" : ": " + error.where);
    return fail(std::move(error));
  }
  auto costs =
      even_costs(request.costs, {static_cast<std::uint32_t>(schedule->ranks()), schedule->stages, schedule->micro_batches});
  if (!costs) return fail(costs.error());
  TimedPipeline timed{.schedule = std::move(*schedule), .costs = std::move(*costs)};
  timed.timing = time_schedule(timed.schedule, timed.costs);
  timed.peak_activations = peak_activations(timed.schedule, timed.timing);
  timed.weight_versions = weight_versions(timed.schedule);
  return timed;
}

}  // namespace plimsoll::gui
