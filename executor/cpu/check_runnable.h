#pragma once

#include "core/base/result.h"
#include "core/plan/expand.h"

namespace plimsoll {

/// Says by name why the CPU backend cannot run this (verified) plan: a kernel or precision it lacks, a collective,
/// a drive's bytes where memory is needed, state in rotating slots, never staged or of the wrong size, a task whose
/// buffer does not fit.
Result<void> check_runnable(const Plan& plan);

}  // namespace plimsoll
