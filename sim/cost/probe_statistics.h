#pragma once

#include "core/base/result.h"
#include "formats/machines/machine_probe.h"
#include "sim/cost/sample.h"

namespace plimsoll {

/// What a probe measured, as if its samples had been summarized here. A text that is no cost key is refused.
Result<SampleStatistics> statistics_of(const MachineProbe& probe);

}  // namespace plimsoll
