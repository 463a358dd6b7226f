#pragma once

#include "core/base/result.h"
#include "core/plan/operator_graph.h"

namespace plimsoll {

/// One entry of a schedule of operators.
struct OperatorStep {
  enum class Kind : std::uint8_t {
    kRun,   ///< an operator
    kFree,  ///< a storage goes, and all values in it
  };
  Kind kind = Kind::kRun;
  std::uint32_t index = 0;  ///< of the operator, or of the storage
};

using OperatorSchedule = std::vector<OperatorStep>;

/// What a schedule takes.
struct OperatorReplay {
  Nanoseconds time;
  Bytes peak;
  std::size_t again = 0;  ///< runs beside each operator's first
};

/// Runs a schedule entry by entry without trusting who made it: every operator finds its inputs, all run, for the first
/// time in the program's order, constants stay, and what is to be kept is there at the end. While an operator runs
/// there is room for all that it writes, beside what is there already; what was there of it before is not there twice
/// afterwards.
Result<OperatorReplay> replay_operators(const OperatorGraph& graph, const OperatorSchedule& schedule);

}  // namespace plimsoll
