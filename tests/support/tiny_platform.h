#pragma once

#include "core/platform/platform.h"

namespace plimsoll::test {

/// One small device, a host and an SSD. Spaces "gpu0", "host", "ssd"; queues "compute" (gpu0), "h2d", "d2h", "cpu",
/// "data" and "report" of width 1; "ssd.read" and "ssd.write" of width 4. Links both ways between gpu0 and host, host
/// and ssd.
Platform tiny_platform();

/// The queue, space of that name. Throws std::out_of_range when the platform has none.
QueueId queue_named(const Platform& platform, std::string_view name);
SpaceId space_named(const Platform& platform, std::string_view name);

}  // namespace plimsoll::test
