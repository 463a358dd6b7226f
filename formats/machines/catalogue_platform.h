#pragma once

#include "core/base/result.h"
#include "formats/machines/gpu_catalogue.h"
#include "formats/machines/machine_options.h"
#include "formats/machines/platform_parts.h"

namespace plimsoll {

/// The machine with this GPU as plans see it: spaces gpu0, host and (when given) ssd, their links with what they share,
/// and the queues compute, h2d, d2h, cpu, data, report and (with a drive) ssd.read, ssd.write. With direct storage links lead
/// between ssd and gpu0 too.
/// Options out of range are an error of kind kInput; a machine whose memory is all taken is kInfeasible.
Result<DescribedPlatform> gpu_platform(const GpuEntry& gpu, const MachineOptions& options = {});

/// What of so much host memory programs do not get: the operating system, the driver and their runtime have it (assumed).
Bytes left_to_system(Bytes ram);

}  // namespace plimsoll
