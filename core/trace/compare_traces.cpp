#include "core/trace/compare_traces.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
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

/// A step after one that was traced may still wait for it.
void add_untraced(Comparison& comparison, const Trace& measured) {
  if (!measured.is_of_device()) return;
  std::vector<Nanoseconds> durations;
  for (std::size_t i = 1; i < measured.steps.size(); ++i) {
    const bool kept = !events_of_step(measured, measured.steps[i].step).empty();
    if (!kept && events_of_step(measured, measured.steps[i - 1].step).empty()) durations.push_back(measured.steps[i].duration());
  }
  comparison.untraced_steps = static_cast<std::uint32_t>(durations.size());
  if (comparison.untraced_steps < Comparison::kLeastUntraced) return;
  const auto middle = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 2);
  std::nth_element(durations.begin(), middle, durations.end());
  comparison.untraced_step = *middle;
}

void add_parts(Comparison& comparison, const StepBreakdown& predicted, const StepBreakdown& measured) {
  comparison.predicted_step = predicted.duration;
  comparison.measured_step = measured.duration;
  for (std::size_t i = 0; i < kTimeParts; ++i) {
    comparison.parts.push_back({static_cast<TimePart>(i), predicted.parts[i], measured.parts[i]});
  }
}

/// Spaces and categories that either side knows, each in order of its id.
std::vector<ComparedMemory> compare_memory(const Trace& predicted, const Trace& measured) {
  if (measured.peaks.empty()) return {};  // a run that was killed never came to tell
  struct Row {
    ComparedMemory memory;
    std::map<TensorKind, ComparedMemory::Category> categories;
  };
  std::map<SpaceId, Row> rows;
  const auto add = [&rows](const SpacePeak& peak, Bytes ComparedMemory::*whole, Bytes ComparedMemory::Category::*part) {
    Row& row = rows[peak.space];
    row.memory.space = peak.space;
    row.memory.*whole = peak.bytes;
    for (const auto& [kind, bytes] : peak.by_category) {
      ComparedMemory::Category& category =
          row.categories.try_emplace(kind, ComparedMemory::Category{kind, {}, {}}).first->second;
      category.*part = bytes;
    }
  };
  for (const SpacePeak& peak : predicted.peaks)
    add(peak, &ComparedMemory::predicted, &ComparedMemory::Category::predicted);
  for (const SpacePeak& peak : measured.peaks)
    add(peak, &ComparedMemory::measured, &ComparedMemory::Category::measured);

  std::vector<ComparedMemory> memory;
  for (auto& [space, row] : rows) {
    for (const auto& [kind, category] : row.categories) row.memory.by_category.push_back(category);
    memory.push_back(std::move(row.memory));
  }
  return memory;
}

}  // namespace

double Comparison::error() const {
  if (measured_step.count == 0) return 0;
  return static_cast<double>((measured_step - predicted_step).count) / static_cast<double>(measured_step.count);
}

std::optional<double> Comparison::untraced_error() const {
  if (untraced_steps < kLeastUntraced || untraced_step.count == 0) return std::nullopt;
  return static_cast<double>((untraced_step - predicted_step).count) / static_cast<double>(untraced_step.count);
}

Result<Comparison> compare_traces(const Plan& plan, const Trace& predicted, const Trace& measured) {
  if (const Result<void> comparable = check_comparable(predicted, measured); !comparable) {
    return fail(comparable.error());
  }
  const Body* const body = plan.body("step");
  if (body == nullptr) return fail({ErrorKind::kDefect, "the plan has no body 'step'", "", ""});
  const FlatBody flat = expand(plan, *body);
  const std::vector<StepSummary> simulated = whole_steps(predicted, flat.size());
  const std::vector<StepSummary> ran = whole_steps(measured, flat.size());
  if (simulated.empty() || ran.empty()) {
    return fail({ErrorKind::kInput,
                 fmt::format("the {} trace has no whole traced step", simulated.empty() ? "predicted" : "measured"), "",
                 "trace a step"});
  }
  Comparison comparison;
  comparison.predicted_step_index = simulated[simulated.size() < 3 ? simulated.size() - 1 : simulated.size() - 2].step;
  const std::vector<StepSummary> comparable =
      alike(ran, measured, skipped_in(predicted, comparison.predicted_step_index));
  comparison.traced_steps = static_cast<std::uint32_t>(ran.size());
  comparison.alike_steps = static_cast<std::uint32_t>(comparable.size());
  comparison.measured_step_index = median_of(comparable);
  add_parts(comparison, break_down(plan, flat, predicted, comparison.predicted_step_index),
            break_down(plan, flat, measured, comparison.measured_step_index));
  add_untraced(comparison, measured);
  comparison.memory = compare_memory(predicted, measured);
  comparison.matched_fraction = matched_fraction(events_of_step(predicted, comparison.predicted_step_index),
                                                 events_of_step(measured, comparison.measured_step_index));
  return comparison;
}

}  // namespace plimsoll
