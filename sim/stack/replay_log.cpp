#include "sim/stack/replay_log.h"

#include <algorithm>
#include <vector>

namespace plimsoll {
namespace {

/// Peaks while events go by.
class Watch {
 public:
  explicit Watch(Replay& replay) : replay_(replay) {}

  void add(const StorageEvent& event, Bytes block, Bytes allocated) {
    held_[static_cast<std::size_t>(event.holding)] += block;
    requested_ += event.bytes;
    replay_.requested = std::max(replay_.requested, requested_);
    if (allocated <= replay_.allocated) return;
    replay_.allocated = allocated;
    replay_.at_peak = held_;
    replay_.peak_place = event.place;
  }
  void remove(const StorageEvent& event, Bytes block) {
    held_[static_cast<std::size_t>(event.holding)] -= block;
    requested_ -= event.bytes;
  }
  void rename(Holding before, Holding after, Bytes block) {
    held_[static_cast<std::size_t>(before)] -= block;
    held_[static_cast<std::size_t>(after)] += block;
  }

 private:
  Replay& replay_;
  std::array<Bytes, kHoldings> held_{};
  Bytes requested_;
};

struct Live {
  CachingAllocator::BlockId block = 0;
  Holding holding = Holding::kActivations;
  bool there = false;
};

}  // namespace

Replay replay_log(const StorageLog& log, const CachingAllocatorOptions& options, std::size_t events) {
  Replay replay;
  CachingAllocator allocator(options);
  Watch watch(replay);
  std::vector<Live> live(log.storages());
  const std::size_t count = events == 0 ? log.events().size() : std::min(events, log.events().size());
  for (std::size_t i = 0; i < count; ++i) {
    const StorageEvent& event = log.events()[i];
    Live& own = live[event.storage];
    if (event.bytes == Bytes(0)) continue;
    if (event.change == StorageChange::kBorn) {
      const auto block = allocator.allocate(event.bytes, event.stream);
      if (!block) {
        replay.ran_out_at = event.place;
        break;
      }
      own = {.block = *block, .holding = event.holding, .there = true};
      watch.add(event, allocator.block_size(*block), allocator.allocated());
    } else if (own.there && event.change == StorageChange::kRenamed) {
      watch.rename(own.holding, event.holding, allocator.block_size(own.block));
      own.holding = event.holding;
    } else if (own.there) {
      watch.remove(event, allocator.block_size(own.block));
      allocator.free(own.block);
      own.there = false;
    }
  }
  replay.reserved = allocator.peak_reserved();
  return replay;
}

Bytes least_memory(const StorageLog& log, const CachingAllocatorOptions& options, const Replay& unlimited) {
  constexpr Bytes kPrecision = 2 * kMiB;
  Bytes too_little = unlimited.allocated - Bytes(1);
  Bytes enough = unlimited.reserved;
  while (enough - too_little > kPrecision) {
    CachingAllocatorOptions tried = options;
    tried.limit = Bytes((too_little.count + enough.count) / 2);
    (replay_log(log, tried).ran_out_at ? too_little : enough) = tried.limit;
  }
  return enough;
}

}  // namespace plimsoll
