#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/trace/compare_memory.h"
#include "core/trace/summarize.h"

namespace plimsoll {

/// One addend of the step-time error: measured minus predicted time of a TimePart.
struct ComparedPart {
  TimePart part = TimePart::kForward;
  Nanoseconds predicted;
  Nanoseconds measured;
};

/// Memory of the process that ran the plan. Arenas are the same in both worlds: reserved whole, every page touched.
struct ComparedProcess {
  Bytes measured;         ///< anonymous bytes of the process when the steps had ended
  Bytes measured_events;  ///< of these, of the events that were kept
  Bytes arenas;
  Bytes events;   ///< as predicted
  Bytes program;  ///< as predicted: libraries, their buffers, threads, the plan

  [[nodiscard]] Bytes predicted() const { return arenas + events + program; }
  /// What is neither arena nor event.
  [[nodiscard]] Bytes measured_program() const { return measured - arenas - measured_events; }
};

/// Predicted against measured, or one run against another. The parts' differences add up to the difference of the steps, to the nanosecond.
struct Comparison {
  Nanoseconds predicted_step;
  Nanoseconds measured_step;
  std::vector<ComparedPart> parts;
  std::vector<ComparedMemory> memory;
  std::optional<ComparedProcess> process;  ///< nothing from compare_traces: traces do not tell
  double matched_fraction = 0;  ///< of the step's instructions: ran in both worlds, or in neither; 0 of two plans
  std::uint32_t predicted_step_index = 0;
  std::uint32_t measured_step_index = 0;  ///< the step of median duration among those alike
  std::uint32_t traced_steps = 0;         ///< whole ones of the run
  std::uint32_t untraced_steps = 0;       ///< that kept no events, the first after a traced one left out
  Nanoseconds untraced_step;              ///< their median, where there are kLeastUntraced
  Nanoseconds untraced_predicted;         ///< what they are held against: the prediction, or the other run's such steps
  std::uint32_t alike_steps = 0;          ///< those that skipped as many instructions as the predicted step; all, when none did
  bool of_two_runs = false;               ///< `predicted` is the first run, of which differences are shares

  static constexpr std::uint32_t kLeastUntraced = 3;

  /// What differences of times are shares of: the measured step; of two runs the first one's.
  [[nodiscard]] Nanoseconds whole() const { return of_two_runs ? predicted_step : measured_step; }
  /// (measured − predicted) ÷ whole, of the step whose parts are told.
  [[nodiscard]] double error() const;
  /// The same of steps without events, which make a device's step longer; nothing where there are too few.
  [[nodiscard]] std::optional<double> untraced_error() const;
};

/// Compares the steady step of a prediction with the median traced step of a run of the same plan. Where guards let steps
/// differ, like is compared with like as far as the run has any.
/// Refused when the traces are of different plans, a trace has no whole traced step, or samples of the measured plan
/// fed the prediction.
Result<Comparison> compare_traces(const Plan& plan, const Trace& predicted, const Trace& measured);

/// A trace, the plan that it is of, and what errors call it.
struct TracedRun {
  const Plan& plan;
  const Trace& trace;
  std::string name;
};

/// Compares the median traced steps of two runs, whatever plan each ran; memories are matched by their names. The first stands in
/// `predicted`, the second in `measured`. Steps without a trace are held against each other where both runs have enough of them.
/// Refused when a trace has no whole traced step of its plan.
Result<Comparison> compare_runs(const TracedRun& first, const TracedRun& second);

}  // namespace plimsoll
