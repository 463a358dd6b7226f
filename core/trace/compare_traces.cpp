#include "core/trace/compare_traces.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>

#include "core/trace/step_window.h"

namespace plimsoll {
namespace {

Result<void> check_comparable(const Trace& predicted, const Trace& measured) {
  if (predicted.plan_digest.empty() || measured.plan_digest.empty()) {
    return fail({ErrorKind::kInput, "a trace does not say which plan it is of", "plan_digest", ""});
  }
  if (predicted.plan_digest != measured.plan_digest) {
    return fail({ErrorKind::kInput,
                 fmt::format("the traces are of different plans: {} was predicted, {} measured", predicted.plan_digest,
                             measured.plan_digest),
                 "plan_digest", "simulate the plan that ran"});
  }
  const std::vector<std::string>& fed = predicted.calibrated_from;
  if (std::find(fed.begin(), fed.end(), measured.plan_digest) != fed.end()) {
    return fail({ErrorKind::kInput, "this plan's own samples fed the model, so its prediction proves nothing",
                 "calibrated_from", "calibrate from the runs of other plans"});
  }
  return {};
}

bool has_whole_step(const Trace& trace, std::uint32_t step, std::size_t instructions) {
  return events_of_step(trace, step).size() == instructions;
}

/// Steps whose every instruction has an event, in the trace's order.
std::vector<StepSummary> whole_steps(const Trace& trace, std::size_t instructions) {
  std::vector<StepSummary> whole;
  for (const StepSummary& summary : trace.steps) {
    if (has_whole_step(trace, summary.step, instructions)) whole.push_back(summary);
  }
  return whole;
}

std::size_t skipped_in(const Trace& trace, std::uint32_t step) {
  const auto events = events_of_step(trace, step);
  return static_cast<std::size_t>(std::count_if(
      events.begin(), events.end(), [](const TraceEvent& event) { return event.status == EventStatus::kSkipped; }));
}

/// Those of `steps` that skipped so many instructions; all, when none did.
std::vector<StepSummary> alike(const std::vector<StepSummary>& steps, const Trace& trace, std::size_t skipped) {
  std::vector<StepSummary> kept;
  std::copy_if(steps.begin(), steps.end(), std::back_inserter(kept),
               [&](const StepSummary& step) { return skipped_in(trace, step.step) == skipped; });
  return kept.empty() ? steps : kept;
}

/// The step of median duration (of an even number the lower one; of equal ones the earliest).
std::uint32_t median_of(std::vector<StepSummary> steps) {
  std::stable_sort(steps.begin(), steps.end(),
                   [](const StepSummary& a, const StepSummary& b) { return a.duration() < b.duration(); });
  return steps[(steps.size() - 1) / 2].step;
}

/// Instructions that ran in both worlds, or were skipped in both, as a fraction of all.
double matched_fraction(std::span<const TraceEvent> predicted, std::span<const TraceEvent> measured) {
  if (predicted.empty()) return 1.0;
  std::size_t matched = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    const bool same_end =
        (predicted[i].status == EventStatus::kSkipped) == (measured[i].status == EventStatus::kSkipped);
    matched += predicted[i].instruction == measured[i].instruction && same_end ? 1 : 0;
  }
  return static_cast<double>(matched) / static_cast<double>(predicted.size());
}

/// Durations of steps that kept no events. A device's step after one that was traced may still wait for it.
std::vector<Nanoseconds> untraced_in(const Trace& trace) {
  std::vector<Nanoseconds> durations;
  for (std::size_t i = 1; i < trace.steps.size(); ++i) {
    const bool kept = !events_of_step(trace, trace.steps[i].step).empty();
    if (!kept && events_of_step(trace, trace.steps[i - 1].step).empty()) durations.push_back(trace.steps[i].duration());
  }
  return durations;
}

/// Nothing where there are too few.
std::optional<Nanoseconds> median_untraced(std::vector<Nanoseconds> durations) {
  if (durations.size() < Comparison::kLeastUntraced) return {};
  const auto middle = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 2);
  std::nth_element(durations.begin(), middle, durations.end());
  return *middle;
}

/// Holds the measured trace's steps without events against `predicted`, where that is known.
void add_untraced(Comparison& comparison, std::optional<Nanoseconds> predicted, const Trace& measured) {
  const std::vector<Nanoseconds> durations = untraced_in(measured);
  const auto median = median_untraced(durations);
  if (!predicted) return;
  comparison.untraced_steps = static_cast<std::uint32_t>(durations.size());
  if (!median) return;
  comparison.untraced_step = *median;
  comparison.untraced_predicted = *predicted;
}

void add_parts(Comparison& comparison, const StepBreakdown& predicted, const StepBreakdown& measured) {
  comparison.predicted_step = predicted.duration;
  comparison.measured_step = measured.duration;
  for (std::size_t i = 0; i < kTimeParts; ++i) {
    comparison.parts.push_back({static_cast<TimePart>(i), predicted.parts[i], measured.parts[i]});
  }
}

/// A plan's step and those of a trace that have all its events.
struct TracedSteps {
  FlatBody body;
  std::vector<StepSummary> whole;
};

/// `none`: what to say where there is no such step.
Result<TracedSteps> traced_steps(const Plan& plan, const Trace& trace, const Error& none) {
  const Body* const body = plan.body("step");
  if (body == nullptr) return fail({ErrorKind::kDefect, "the plan has no body 'step'", "", ""});
  TracedSteps steps{expand(plan, *body), {}};
  steps.whole = whole_steps(trace, steps.body.size());
  if (steps.whole.empty()) return fail(none);
  return steps;
}

/// Of a trace by one of two names.
Error not_traced(const char* which) {
  return {ErrorKind::kInput, fmt::format("the {} trace has no whole traced step", which), "", "let it run for some steps"};
}

Result<TracedSteps> steps_of(const TracedRun& run) {
  return traced_steps(run.plan, run.trace, {ErrorKind::kInput, "no step was traced whole", run.name, "let it run for some steps"});
}

}  // namespace

double Comparison::error() const {
  if (whole().count == 0) return 0;
  return static_cast<double>((measured_step - predicted_step).count) / static_cast<double>(whole().count);
}

std::optional<double> Comparison::untraced_error() const {
  const Nanoseconds share_of = of_two_runs ? untraced_predicted : untraced_step;
  if (untraced_steps < kLeastUntraced || untraced_step.count == 0 || share_of.count == 0) return std::nullopt;
  return static_cast<double>((untraced_step - untraced_predicted).count) / static_cast<double>(share_of.count);
}

Result<Comparison> compare_traces(const Plan& plan, const Trace& predicted, const Trace& measured) {
  if (const Result<void> comparable = check_comparable(predicted, measured); !comparable) {
    return fail(comparable.error());
  }
  const auto simulated = traced_steps(plan, predicted, not_traced("predicted"));
  if (!simulated) return fail(simulated.error());
  const auto ran = traced_steps(plan, measured, not_traced("measured"));
  if (!ran) return fail(ran.error());
  Comparison comparison;
  const std::vector<StepSummary>& foretold = simulated->whole;
  comparison.predicted_step_index = foretold[foretold.size() < 3 ? foretold.size() - 1 : foretold.size() - 2].step;
  const std::vector<StepSummary> comparable = alike(ran->whole, measured, skipped_in(predicted, comparison.predicted_step_index));
  comparison.traced_steps = static_cast<std::uint32_t>(ran->whole.size());
  comparison.alike_steps = static_cast<std::uint32_t>(comparable.size());
  comparison.measured_step_index = median_of(comparable);
  add_parts(comparison, break_down(plan, ran->body, predicted, comparison.predicted_step_index),
            break_down(plan, ran->body, measured, comparison.measured_step_index));
  add_untraced(comparison, comparison.predicted_step, measured);
  comparison.memory = compare_memory(plan, predicted, plan, measured);
  comparison.matched_fraction = matched_fraction(events_of_step(predicted, comparison.predicted_step_index),
                                                 events_of_step(measured, comparison.measured_step_index));
  return comparison;
}

Result<Comparison> compare_runs(const TracedRun& first, const TracedRun& second) {
  const auto firsts = steps_of(first);
  if (!firsts) return fail(firsts.error());
  const auto seconds = steps_of(second);
  if (!seconds) return fail(seconds.error());
  Comparison comparison;
  comparison.of_two_runs = true;
  comparison.predicted_step_index = median_of(firsts->whole);
  comparison.measured_step_index = median_of(seconds->whole);
  comparison.traced_steps = comparison.alike_steps = static_cast<std::uint32_t>(seconds->whole.size());
  add_parts(comparison, break_down(first.plan, firsts->body, first.trace, comparison.predicted_step_index),
            break_down(second.plan, seconds->body, second.trace, comparison.measured_step_index));
  add_untraced(comparison, median_untraced(untraced_in(first.trace)), second.trace);
  comparison.memory = compare_memory(first.plan, first.trace, second.plan, second.trace);
  if (first.trace.plan_digest == second.trace.plan_digest) {
    comparison.matched_fraction = matched_fraction(events_of_step(first.trace, comparison.predicted_step_index),
                                                   events_of_step(second.trace, comparison.measured_step_index));
  }
  return comparison;
}

}  // namespace plimsoll
