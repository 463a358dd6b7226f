#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sim/parallel/sweep_layouts.h"

namespace plimsoll {

/// The lines of a share of some work: those numbered `part`, `part` + `parts` and so on.
using SharedLines = std::function<Result<std::vector<std::string>>(const SweepShare&)>;

/// All lines in their order. Where a launcher started several processes, each makes its share; the first process gets all of
/// them, the others nothing. It fails on the first process when any does, or when another's first line is not its own: other
/// files or another build would give other lines.
Result<std::vector<std::string>> spread_lines(const SharedLines& lines);

}  // namespace plimsoll
