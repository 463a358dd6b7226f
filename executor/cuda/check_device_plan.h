#pragma once

#include "core/base/result.h"
#include "core/plan/plan.h"

namespace plimsoll {

/// Says by name why a device executor cannot run this (verified) plan: a kernel or precision that its device or its host
/// lacks, a queue of the device that runs more than one at once, a guard where nothing reads it, a transfer that no queue of
/// its kind makes.
Result<void> check_device_plan(const Plan& plan);

}  // namespace plimsoll
