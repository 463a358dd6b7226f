#pragma once

#include "core/plan/plan.h"
#include "sim/inference/inference_task.h"

namespace plimsoll {

/// Writes a pass of one batch under ZeRO-3's hooks (DeepSpeed's partitioned_param_coordinator and partition_parameters)
/// as a plan without addresses: before each module one thread waits for the module's own weights, starts to fetch
/// further ones, launches the module's kernels, and lets its weights go.
///
/// Up to 0.8 it stands still until a fetch has crossed the link; one rank gathers, too: on the stream of the copies the
/// weights are joined to one buffer, and are copied out of it when a module first waits for them (a single tensor is
/// copied once). From 0.9 on weights are copied to where they are used, and the thread stands still where a module
/// waits for them. The head of a tied model fetches the token embedding anew.
Plan write_hooked_schedule(const InferenceTask& task, const OffloadPolicy& policy, const Platform& platform,
                           std::int64_t cached);

}  // namespace plimsoll
