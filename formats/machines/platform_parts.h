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

/// Drive-seconds that a drive gives in a second in which it reads and writes at once: what of its rate alone each
/// direction keeps, summed; 2 when neither slows the other. A drive that is slower than in turns counts as one that
/// takes turns (1): a shared resource cannot be worse.
double drive_seconds_together(double read, double write, double mixed_read, double mixed_write);

/// Adds the two queues of the host's small tasks, "data" and "report", each of which holds one core while it works.
void add_host_work_queues(Platform& platform, ProcessorId cpu, ResourceId cores);

}  // namespace plimsoll
