#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/trace/summarize.h"

namespace plimsoll {

/// One addend of the step-time error: measured minus predicted time of a TimePart.
struct ComparedPart {
  TimePart part = TimePart::kForward;
  Nanoseconds predicted;
  Nanoseconds measured;
};

/// Peak of one space in both worlds, split by what lies there.
struct ComparedMemory {
  SpaceId space;
  Bytes predicted;
  Bytes measured;
  struct Category {
    TensorKind kind;
    Bytes predicted;
    Bytes measured;
  };
  std::vector<Category> by_category;
};

/// Predicted against measured. The parts' differences add up to the difference of the steps, to the nanosecond.
struct Comparison {
  Nanoseconds predicted_step;
  Nanoseconds measured_step;
  std::vector<ComparedPart> parts;
  std::vector<ComparedMemory> memory;
  double matched_fraction = 0;  ///< of the step's instructions: ran in both worlds, or in neither
  std::uint32_t predicted_step_index = 0;
  std::uint32_t measured_step_index = 0;  ///< the step of median duration

  /// (measured − predicted) ÷ measured.
  [[nodiscard]] double error() const;
};

/// Compares the steady step of a prediction with the median traced step of a run of the same plan.
/// Refused when the traces are of different plans, a trace has no whole traced step, or samples of the measured plan
/// fed the prediction.
Result<Comparison> compare_traces(const Plan& plan, const Trace& predicted, const Trace& measured);

}  // namespace plimsoll
