#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/trace/recording.h"

namespace plimsoll {

/// The ranges of a recording in the order in which they nest: by their start, of equal starts the longer first (clocks of whole
/// microseconds make many of these), else as they stand. They point into the recording.
std::vector<const MarkedRange*> nested_ranges(const Recording& recording);

/// An operator of a framework, all its runs on the host together.
struct OperatorTotal {
  std::string name;
  std::size_t count = 0;
  Nanoseconds own;  ///< without the operators that ran within it on its thread
};

/// The operators of a recording by name, the most time of their own first.
std::vector<OperatorTotal> operator_totals(const Recording& recording);

}  // namespace plimsoll
