#pragma once

#include <QString>

#include <string>
#include <vector>

#include "core/base/result.h"
#include "sim/schedule/time_schedule.h"

namespace plimsoll::gui {

/// What a user chose on the Pipelines page.
struct PipelineChoices {
  QString schedule = QStringLiteral("1f1b");
  QString file;               ///< orders of the user's own; then the sizes are the file's
  int ranks = 4;
  int micro_batches = 8;
  int chunks = 0;             ///< stages of a rank; 0: the schedule's own
  double forward = 1;
  double input_gradient = 1;
  double weight_gradient = 1;
  double hop = 0;
  bool overlapped = false;    ///< forward and backward of the middle as one, where a schedule can

  bool operator==(const PipelineChoices&) const = default;
};

/// A schedule with its times and what it takes.
struct TimedPipeline {
  PipelineSchedule schedule;
  StageCosts costs;
  ScheduleTiming timing;
  std::vector<double> peak_activations;        ///< of each rank, in micro-batches of a full rank
  std::vector<std::uint32_t> weight_versions;  ///< of each rank

  [[nodiscard]] std::size_t ops() const;
};

/// Makes and verifies what was chosen. Errors say which choice cannot be, and the nearest that can.
Result<TimedPipeline> time_pipeline(const PipelineChoices& choices);

}  // namespace plimsoll::gui
