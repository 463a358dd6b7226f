#pragma once

#include <string>
#include <vector>

#include "core/platform/platform.h"

namespace plimsoll {

/// A platform and every default that was taken to describe it, in words.
struct DescribedPlatform {
  Platform platform;
  std::vector<std::string> defaults;
};

/// Each adds one entry to the platform's table and gives its id.
SpaceId add_space(Platform& platform, std::string name, SpaceKind kind, Bytes capacity, Bytes usable);
ProcessorId add_processor(Platform& platform, Processor processor);
ResourceId add_resource(Platform& platform, std::string name, double capacity);
LinkId add_link(Platform& platform, Link link);
QueueId add_queue(Platform& platform, std::string name, QueueKind kind, ProcessorId processor,
                  std::vector<Demand> demands = {}, std::int64_t width = 1);

/// What a drive is told to reach, in bytes a second, and how many drive-seconds it gives in a second in which it reads and writes at
/// once: what of its rate alone each direction keeps, summed; 1 when it takes turns, 2 when neither slows the other.
struct DriveSpeeds {
  double read = 0, write = 0;
  double together = 1;
};

/// Of a drive that reads and writes so fast alone, and at once. One that is slower at once than in turns is told as slow in turns too, as a
/// shared resource cannot be worse than turns: true of steps that do both most of the time, too slow for those that do one.
DriveSpeeds drive_speeds(double read, double write, double mixed_read, double mixed_write);

/// Adds the two queues of the host's small tasks, "data" and "report", each of which holds one core while it works.
void add_host_work_queues(Platform& platform, ProcessorId cpu, ResourceId cores);

}  // namespace plimsoll
