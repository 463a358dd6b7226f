#include "sim/memory/replay_allocations.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <unordered_map>

namespace plimsoll {
namespace {

using BlockId = CachingAllocator::BlockId;

constexpr std::int64_t kSmallBlock = kMiB.count;
constexpr std::int64_t kSmallSegment = 2 * kMiB.count;

/// A stretch of addresses.
struct Stretch {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool small = false;
};

/// Small blocks lie in segments of 2 MiB that no large block shares, at addresses that are multiples of 2 MiB.
bool in_small_segment(const AllocationEvent& event) { return std::llabs(event.bytes) <= kSmallBlock; }

class DeviceReplay {
 public:
  DeviceReplay(std::vector<const AllocationEvent*> events, const CachingAllocatorOptions& options)
      : events_(std::move(events)), model_(options) {
    result_.process = events_.front()->process;
    result_.device = events_.front()->device;
  }

  ReplayedAllocations run() {
    take_over();
    for (const AllocationEvent* event : events_) step(*event);
    result_.peak_reserved = model_.peak_reserved() + result_.unseen_at_start;
    result_.peak_allocated = model_.peak_allocated() + unseen_in_use_;
    if (!result_.points.empty()) result_.mean_error /= static_cast<double>(result_.points.size());
    return std::move(result_);
  }

 private:
  /// Blocks that were there at the start: given back without having been asked for.
  std::map<std::uint64_t, std::int64_t> blocks_at_start() const {
    std::map<std::uint64_t, std::int64_t> there;
    std::set<std::uint64_t> asked;
    for (const AllocationEvent* event : events_) {
      if (event->bytes > 0) asked.insert(event->address);
      else if (asked.erase(event->address) == 0) there.emplace(event->address, -event->bytes);
    }
    return there;
  }

  /// Memory that events touch and that was reserved before any growth: all of it up to the first growth.
  std::vector<Stretch> stretches_at_start(const std::map<std::uint64_t, std::int64_t>& there) const {
    std::vector<Stretch> parts;
    for (const auto& [address, bytes] : there)
      parts.push_back({address, address + static_cast<std::uint64_t>(bytes), bytes <= kSmallBlock});
    std::int64_t reserved = events_.front()->reserved;
    for (const AllocationEvent* event : events_) {
      if (event->reserved > reserved) break;
      reserved = event->reserved;
      if (event->bytes > 0)
        parts.push_back({event->address, event->address + static_cast<std::uint64_t>(event->bytes), in_small_segment(*event)});
    }
    return joined(std::move(parts));
  }

  static std::vector<Stretch> joined(std::vector<Stretch> parts) {
    for (Stretch& part : parts) {
      if (!part.small) continue;  // the whole segment is there
      part.begin -= part.begin % static_cast<std::uint64_t>(kSmallSegment);
      part.end = (part.end + static_cast<std::uint64_t>(kSmallSegment) - 1) / static_cast<std::uint64_t>(kSmallSegment) *
                 static_cast<std::uint64_t>(kSmallSegment);
    }
    std::sort(parts.begin(), parts.end(), [](const Stretch& a, const Stretch& b) { return a.begin < b.begin; });
    std::vector<Stretch> whole;
    for (const Stretch& part : parts) {
      if (whole.empty() || part.begin > whole.back().end || (part.begin == whole.back().end && part.small)) {
        whole.push_back(part);
      } else {
        whole.back().end = std::max(whole.back().end, part.end);
        whole.back().small = whole.back().small && part.small;
      }
    }
    return whole;
  }

  void take_over() {
    const AllocationEvent& first = *events_.front();
    if (first.reserved < 0) return;
    const auto there = blocks_at_start();
    result_.held_at_start = Bytes(std::max<std::int64_t>(0, first.reserved - growth_before(first)));
    Bytes seen, in_use;
    for (const Stretch& stretch : stretches_at_start(there)) {
      const auto bytes = static_cast<std::int64_t>(stretch.end - stretch.begin);
      if (seen.count + bytes > result_.held_at_start.count) continue;
      seen += Bytes(bytes);
      in_use += adopt(stretch, there);
    }
    result_.unseen_at_start = result_.held_at_start - seen;
    const std::int64_t before = first.allocated - first.bytes;
    unseen_in_use_ = Bytes(std::max<std::int64_t>(0, before - in_use.count));
  }

  /// The first event may be an allocation that grew the cache: from nothing, when it is all that is allocated.
  static std::int64_t growth_before(const AllocationEvent& first) {
    return first.bytes > 0 && first.allocated == first.bytes ? first.reserved : 0;
  }

  Bytes adopt(const Stretch& stretch, const std::map<std::uint64_t, std::int64_t>& there) {
    std::vector<CachingAllocator::Held> held;
    std::vector<std::uint64_t> addresses;
    Bytes in_use;
    std::uint64_t at = stretch.begin;
    for (auto block = there.lower_bound(stretch.begin); block != there.end() && block->first < stretch.end; ++block) {
      const std::uint64_t end = block->first + static_cast<std::uint64_t>(block->second);
      if (block->first < at || end > stretch.end) {
        ++result_.unmatched;
        continue;
      }
      if (block->first > at) {
        held.push_back({Bytes(static_cast<std::int64_t>(block->first - at)), false});
        addresses.push_back(0);
      }
      held.push_back({Bytes(block->second), true});
      addresses.push_back(block->first);
      in_use += Bytes(block->second);
      at = end;
    }
    if (at < stretch.end) {
      held.push_back({Bytes(static_cast<std::int64_t>(stretch.end - at)), false});
      addresses.push_back(0);
    }
    const auto ids = model_.adopt(held, stretch.small);
    for (std::size_t i = 0; ids && i < ids->size(); ++i) {
      if (addresses[i] != 0) live_[addresses[i]] = (*ids)[i];
    }
    return in_use;
  }

  void step(const AllocationEvent& event) {
    if (event.reserved >= 0 && event.reserved < last_reserved_) model_.empty_cache();
    const Bytes before = model_.reserved();
    if (event.bytes > 0) {
      const auto block = model_.allocate(Bytes(event.bytes), stream_of(event));
      if (!block || !live_.emplace(event.address, *block).second) ++result_.unmatched;
    } else if (event.bytes < 0) {
      const auto found = live_.find(event.address);
      if (found == live_.end()) {
        ++result_.unmatched;
      } else {
        model_.free(found->second);
        live_.erase(found);
      }
    }
    if (event.reserved < 0) return;
    result_.grown += last_reserved_ >= 0 && event.reserved > last_reserved_;
    result_.grown_here += model_.reserved() > before;
    last_reserved_ = event.reserved;
    if (event.bytes != 0) note(event);  // a segment that was only asked for serves the next request
  }

  std::uint32_t stream_of(const AllocationEvent& event) {
    return streams_.try_emplace(event.stream, static_cast<std::uint32_t>(streams_.size())).first->second;
  }

  void note(const AllocationEvent& event) {
    const AllocationPoint point{.time = event.time,
                                .recorded_allocated = Bytes(event.allocated),
                                .recorded_reserved = Bytes(event.reserved),
                                .allocated = model_.allocated() + unseen_in_use_,
                                .reserved = model_.reserved() + result_.unseen_at_start};
    const double error = event.reserved == 0 ? 0
                                             : std::fabs(static_cast<double>((point.reserved - point.recorded_reserved).count)) /
                                                   static_cast<double>(event.reserved);
    result_.worst_error = std::max(result_.worst_error, error);
    result_.mean_error += error;
    result_.recorded_peak_reserved = std::max(result_.recorded_peak_reserved, point.recorded_reserved);
    result_.points.push_back(point);
  }

  std::vector<const AllocationEvent*> events_;
  CachingAllocator model_;
  ReplayedAllocations result_;
  std::unordered_map<std::uint64_t, BlockId> live_;
  std::map<std::int64_t, std::uint32_t> streams_;
  Bytes unseen_in_use_;
  std::int64_t last_reserved_ = -1;
};

}  // namespace

Result<std::vector<ReplayedAllocations>> replay_allocations(const Recording& recording, const CachingAllocatorOptions& options) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<const AllocationEvent*>> devices;
  for (const AllocationEvent& event : recording.allocations) {
    if (event.of_framework && event.memory_kind == kDeviceMemoryKind) devices[{event.process, event.device}].push_back(&event);
  }
  if (devices.empty()) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "the trace holds no memory events of a framework's allocator",
                 .where = {},
                 .remedy = "record with profile_memory=True, or name a snapshot of torch.cuda.memory._dump_snapshot"});
  }
  std::vector<ReplayedAllocations> all;
  for (auto& [device, events] : devices) all.push_back(DeviceReplay(std::move(events), options).run());
  return all;
}

}  // namespace plimsoll
