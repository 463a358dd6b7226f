#pragma once

#include <vector>

#include "core/plan/expand.h"

namespace plimsoll {

/// Whether the queue's instructions are given to a device, which carries them out later.
bool is_device_queue(const Platform& platform, QueueId queue);

/// Which instructions of the device must mark their end with an event, and who waits for it. Everything else is ordered without:
/// by a stream's own order, by what an earlier wait implies, or because the host ended it before.
struct EventPlan {
  struct Wait {
    std::uint32_t target = 0;    ///< an instruction of the device
    std::uint32_t distance = 0;  ///< steps before

    bool operator==(const Wait&) const = default;
  };
  std::vector<std::vector<Wait>> waits;  ///< by instruction: what its stream, or the host before it starts, must wait for
  std::vector<char> records;             ///< by instruction: whether somebody waits for it
  std::uint32_t longest_distance = 0;    ///< of any dependency
};

/// Of a verified body.
EventPlan plan_events(const Platform& platform, const FlatBody& body);

}  // namespace plimsoll
