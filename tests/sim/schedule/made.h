#pragma once

#include <catch2/catch.hpp>

#include "core/schedule/verify_schedule.h"
#include "sim/schedule/make_schedule.h"
#include "sim/schedule/stage_memory.h"

namespace plimsoll::test {

/// A schedule, verified, with its times.
struct Made {
  PipelineSchedule schedule;
  StageCosts costs;
  ScheduleTiming timing;

  [[nodiscard]] double makespan() const { return costs.units(timing.makespan); }
  [[nodiscard]] double span() const { return costs.units(*std::max_element(timing.span.begin(), timing.span.end())); }
};

inline PipelineShape shape_of(const PipelineSchedule& schedule) {
  return {static_cast<std::uint32_t>(schedule.ranks()), schedule.stages, schedule.micro_batches};
}

inline Made timed(PipelineSchedule schedule, const RankCosts& costs) {
  INFO(schedule.name << ", " << schedule.ranks() << " ranks, " << schedule.micro_batches << " micro-batches");
  const auto verified = verify_schedule(schedule);
  if (!verified) FAIL(verified.error().text());
  Made made{std::move(schedule), {}, {}};
  made.costs = even_costs(costs, shape_of(made.schedule)).value();
  made.timing = time_schedule(made.schedule, made.costs);
  return made;
}

inline Made made(const ScheduleRequest& request) {
  auto schedule = make_schedule(request);
  if (!schedule) FAIL(schedule.error().text());
  return timed(std::move(*schedule), request.costs);
}

/// "0F0 0F1 (0F2;1B0)OVERLAP_F_B": a rank's order on one line.
inline std::string order_text(const std::vector<PipelineOp>& order) {
  std::string text;
  for (std::size_t i = 0; i < order.size(); ++i) {
    text += text.empty() ? "" : " ";
    if (!order[i].with_next) {
      text += to_text(order[i]);
      continue;
    }
    text += "(" + to_text(order[i]) + ";" + to_text(order[i + 1]) + ")OVERLAP_F_B";
    ++i;
  }
  return text;
}

}  // namespace plimsoll::test
