#pragma once

#include <vector>

#include "core/base/result.h"
#include "core/platform/platform.h"
#include "sim/cost/sample.h"

namespace plimsoll {

/// Runs `steps` steps of the warm-up plan of two tiny models and returns what only an interpreter spends: the gaps
/// between instructions and the host's small tasks. Fails when not even 32 MiB are free.
Result<std::vector<Sample>> rehearse_interpreter(const Platform& machine, std::int64_t steps);

}  // namespace plimsoll
