#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/trace/recording.h"
#include "sim/memory/caching_allocator.h"

namespace plimsoll {

/// Recorded against modelled at one event.
struct AllocationPoint {
  Nanoseconds time;
  Bytes recorded_allocated;
  Bytes recorded_reserved;
  Bytes allocated;
  Bytes reserved;
};

/// The memory events of one device, run through the allocator's model.
struct ReplayedAllocations {
  std::uint32_t process = 0;
  std::uint32_t device = 0;
  std::vector<AllocationPoint> points;
  Bytes held_at_start;        ///< reserved before the first event, taken over as the events' addresses show it
  Bytes unseen_at_start;      ///< of that: no event ever touches it; it counts and serves nobody
  std::size_t grown = 0;      ///< times that the recording's reserved memory grew …
  std::size_t grown_here = 0; ///< … and the model's
  std::size_t unmatched = 0;  ///< events that contradict the others: two blocks at one address, a block that overlaps another
  double worst_error = 0;     ///< of reserved memory, |model − recorded| ÷ recorded, over all events
  double mean_error = 0;
  Bytes peak_reserved;        ///< of the model
  Bytes recorded_peak_reserved;
  Bytes peak_allocated;
};

/// Runs every framework allocation of the recording once more, device by device. Sizes, order and what is given back are taken from
/// the recording; where a block is placed and when memory is asked of the device is the model's. What lay in the cache before the
/// first event is rebuilt from the addresses that events name: the stretches of memory that they touch, with the blocks that were
/// there. Where recorded memory shrinks, the model gives its free segments back. Streams are not told apart where the recording does not tell them. Fails when the recording has no such events.
Result<std::vector<ReplayedAllocations>> replay_allocations(const Recording& recording, const CachingAllocatorOptions& options = {});

}  // namespace plimsoll
