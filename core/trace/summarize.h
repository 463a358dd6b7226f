#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/plan/expand.h"
#include "core/trace/trace.h"

namespace plimsoll {

/// What a stretch of a step's time was spent on. The parts of a step add up to its duration exactly.
enum class TimePart : std::uint8_t { kForward, kBackward, kOptimizer, kTransfer, kStorage, kLoad, kIdle };
inline constexpr std::size_t kTimeParts = 7;

/// Nanoseconds of each TimePart. A moment counts as the first of: a compute queue running (by its phase), the CPU
/// optimizer, a copy, SSD traffic, data loading, idle; so transfer and storage are the *exposed* ones.
struct StepBreakdown {
  Nanoseconds duration;
  std::array<Nanoseconds, kTimeParts> parts{};

  [[nodiscard]] Nanoseconds at(TimePart part) const { return parts[static_cast<std::size_t>(part)]; }
};

/// Splits step `step` of a trace, with the work for later steps that runs meanwhile. The step must have been traced.
StepBreakdown break_down(const Plan& plan, const FlatBody& body, const Trace& trace, std::uint32_t step);

/// Time that each queue spends on a step's own instructions, wherever in time they lie: what every steady step brings.
std::vector<Nanoseconds> work_by_queue(const Plan& plan, const FlatBody& body, const Trace& trace, std::uint32_t step);

/// Busy time of each queue of the platform during a step.
std::vector<Nanoseconds> busy_by_queue(const Plan& plan, const FlatBody& body, const Trace& trace, std::uint32_t step);

/// The simulated step that stands for the steady state: the last that another one follows, since what a step prepares for
/// the next (loading its tokens, writing states) belongs to a steady step too; the last of fewer than three steps.
std::uint32_t steady_step(const Trace& simulated);

/// Median duration of the steps from `first` on (the steady state): of an even number the lower middle one, 0 of none.
Nanoseconds median_step(const Trace& trace, std::uint32_t first);

std::string_view to_text(TimePart part);

}  // namespace plimsoll
