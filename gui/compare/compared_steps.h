#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/trace/compare_traces.h"
#include "gui/compare/matched_ops.h"

namespace plimsoll::gui {

/// Two traces side by side: the step of each that is compared, op by op and part by part.
struct ComparedSteps {
  SharedTimeline first;
  SharedTimeline second;
  std::uint32_t first_step = 0;
  std::uint32_t second_step = 0;
  std::vector<MatchedOp> ops;
  std::vector<MatchedClass> classes;
  std::optional<Comparison> comparison;  ///< what adds up; nothing: see `refused`
  std::string refused;                   ///< why the steps cannot be compared in parts, in words

  /// Ops that ran in both ÷ all.
  [[nodiscard]] double matched() const;
  [[nodiscard]] std::int64_t step_time(bool second) const;
};

/// Compares the traces' typical steps. Those of different plans are compared in parts and memory, without matching operations.
std::shared_ptr<const ComparedSteps> compare_steps(SharedTimeline first, SharedTimeline second);

}  // namespace plimsoll::gui
