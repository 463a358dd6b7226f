#pragma once

#include <cstdint>

#include "core/platform/platform.h"

namespace plimsoll {

/// A folder on a drive, for plans to put data in.
struct AttachedDrive {
  Bytes usable;
  double read_bytes_per_second = 0;
  double write_bytes_per_second = 0;
  double together = 1;  ///< drive-seconds a second while it does both (DriveSpeeds)
  bool reaches_device = false;  ///< its data goes straight into the device's arena too
};

/// Transfers under way at once in each direction; each is cut into many operations, so a few keep the drive busy.
inline constexpr std::int64_t kDriveWidth = 4;

/// Adds the space "ssd", its links to and from `host` and the queues ssd.read and ssd.write, whose instructions `cpu`
/// issues; where it reaches the device, links to and from that as well. A drive that reads and writes at once may reach neither
/// speed: both directions draw on its seconds. The device's arena is in DRAM, too.
void add_drive(Platform& platform, const AttachedDrive& drive, SpaceId device, SpaceId host, ProcessorId cpu, ResourceId dram);

}  // namespace plimsoll
