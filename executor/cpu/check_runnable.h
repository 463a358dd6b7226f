#pragma once

#include "core/base/result.h"
#include "core/plan/expand.h"

namespace plimsoll {

/// Says by name why the CPU backend cannot run this (verified) plan: a kernel or precision it lacks, a collective,
/// a drive's bytes where memory is needed, state in rotating slots, never staged or of the wrong size, a task whose
/// buffer does not fit, a kernel whose operands are shorter than its shape asks for. With `on_gpu` a GPU runs the kernels of
/// the GPU's queues, which need other workspaces.
Result<void> check_runnable(const Plan& plan, bool on_gpu = false);

/// Says by name why a (verified) migration does not join two plans: other memories, too short an arena, anything but
/// copies.
Result<void> check_migration(const Plan& migration, const Plan& old, const Plan& next);

}  // namespace plimsoll
