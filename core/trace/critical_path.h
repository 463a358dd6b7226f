#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/plan/expand.h"
#include "core/trace/trace.h"

namespace plimsoll {

/// Why an instruction of a critical path could not start earlier.
enum class CriticalCause : std::uint8_t {
  kStepBefore,  ///< nothing of its own step held it up: the start of the trace, or an instruction of an earlier step
  kDependency,  ///< the instruction before it in the path is a dependency of it
  kQueue,       ///< the instruction before it in the path had to leave the queue
};

/// One instruction of the chain that determines a step's end.
struct CriticalEvent {
  std::uint32_t instruction = 0;
  CriticalCause cause = CriticalCause::kStepBefore;
  Nanoseconds start;
  Nanoseconds end;
  Nanoseconds
      waited;  ///< from the end of the one before it in the path (dispatch, on real hardware noise); 0 for the first
};

/// The chain of instructions that determines the end of step `step`: from the last that ended back through the
/// dependency or queue predecessor of the same step that ended last (of equal ends a dependency, then the larger id).
/// First to last; empty when the step was not wholly traced.
std::vector<CriticalEvent> critical_path(const Plan& plan, const FlatBody& body, const Trace& trace,
                                         std::uint32_t step);

std::string_view to_text(CriticalCause cause);

}  // namespace plimsoll
