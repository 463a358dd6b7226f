#include "gui/compare/compared_steps.h"

#include <algorithm>

#include "gui/timeline/build_timeline.h"

namespace plimsoll::gui {
namespace {

bool are_of_one_plan(const ComparedSteps& steps) {
  return steps.first->plan_digest == steps.second->plan_digest && !steps.first->plan_digest.empty();
}

/// A run beside what was foretold of its plan is compared by the prediction's rules, any other two traces as two runs are.
Result<Comparison> compared(const ComparedSteps& steps) {
  const Trace first = whole_trace(*steps.first), second = whole_trace(*steps.second);
  const bool foretold = steps.first->kind == TraceKind::kPredicted && steps.second->kind == TraceKind::kMeasured;
  if (foretold && are_of_one_plan(steps)) return compare_traces(*steps.first->plan, first, second);
  return compare_runs({*steps.first->plan, first, "the first trace"}, {*steps.second->plan, second, "the second trace"});
}

void choose_steps(ComparedSteps& steps) {
  steps.first_step = steps.first->typical_step();
  steps.second_step = steps.second->typical_step();
  if (steps.first->plan == nullptr || steps.second->plan == nullptr) {
    steps.refused = "a trace without a plan has no instructions to match";
    return;
  }
  auto comparison = compared(steps);
  if (!comparison) {
    steps.refused = comparison.error().text();
    return;
  }
  steps.first_step = comparison->predicted_step_index;
  steps.second_step = comparison->measured_step_index;
  steps.comparison = std::move(*comparison);
}

}  // namespace

double ComparedSteps::matched() const {
  if (ops.empty()) return 0;
  const auto both = std::count_if(ops.begin(), ops.end(), [](const MatchedOp& op) { return op.in_both(); });
  return static_cast<double>(both) / static_cast<double>(ops.size());
}

std::int64_t ComparedSteps::step_time(bool of_second) const {
  const StepMark* mark = of_second ? second->step(second_step) : first->step(first_step);
  return mark == nullptr ? 0 : mark->end - mark->begin;
}

std::shared_ptr<const ComparedSteps> compare_steps(SharedTimeline first, SharedTimeline second) {
  auto steps = std::make_shared<ComparedSteps>();
  steps->first = std::move(first);
  steps->second = std::move(second);
  choose_steps(*steps);
  steps->classes = add_up(*steps->first, steps->first_step, *steps->second, steps->second_step);
  if (!are_of_one_plan(*steps)) return steps;
  steps->ops = match_ops(*steps->first, steps->first_step, *steps->second, steps->second_step);
  return steps;
}

}  // namespace plimsoll::gui
