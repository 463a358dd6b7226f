#include "sim/stack/replay_log.h"

#include <algorithm>
#include <vector>

namespace plimsoll {
namespace {

/// Peaks while events go by.
class Watch {
 public:
  void add(const StorageEvent& event, Bytes block, Bytes allocated) {
    held_[static_cast<std::size_t>(event.holding)] += block;
    requested_ += event.bytes;
    replay.requested = std::max(replay.requested, requested_);
    if (allocated <= replay.allocated) return;
    replay.allocated = allocated;
    replay.at_peak = held_;
    replay.peak_place = event.place;
  }
  void remove(const StorageEvent& event, Bytes block) {
    held_[static_cast<std::size_t>(event.holding)] -= block;
    if (event.holding != Holding::kAwaited) requested_ -= event.bytes;
  }
  void rename(Holding before, const StorageEvent& event, Bytes block) {
    held_[static_cast<std::size_t>(before)] -= block;
    held_[static_cast<std::size_t>(event.holding)] += block;
    if (before == Holding::kAwaited) requested_ += event.bytes;
    if (event.holding == Holding::kAwaited) requested_ -= event.bytes;
  }
  /// Blocks that nobody has, though they are not free.
  [[nodiscard]] Bytes awaited() const { return held_[static_cast<std::size_t>(Holding::kAwaited)]; }

  Replay replay;

 private:
  std::array<Bytes, kHoldings> held_{};
  Bytes requested_;
};

struct Live {
  CachingAllocator::BlockId block = 0;
  Holding holding = Holding::kActivations;
  bool there = false;
};

}  // namespace

ReplayedSteps replay_steps(const StorageLog& log, const CachingAllocatorOptions& options, std::size_t first_step) {
  std::optional<Replay> first;
  CachingAllocator allocator(options);
  Watch watch;
  std::vector<Live> live(log.storages());
  const auto seen = [&] {
    watch.replay.reserved = allocator.peak_reserved();
    return watch.replay;
  };
  for (std::size_t i = 0; i < log.events().size(); ++i) {
    if (i == first_step && first_step > 0) first = seen();
    const StorageEvent& event = log.events()[i];
    Live& own = live[event.storage];
    if (event.bytes == Bytes(0)) continue;
    if (event.change == StorageChange::kBorn) {
      const auto block = allocator.allocate(event.bytes, event.stream);
      if (!block) {
        watch.replay.ran_out_at = event.place;
        break;
      }
      own = {.block = *block, .holding = event.holding, .there = true};
      watch.add(event, allocator.block_size(*block), allocator.allocated() - watch.awaited());
    } else if (own.there && event.change == StorageChange::kRenamed) {
      watch.rename(own.holding, event, allocator.block_size(own.block));
      own.holding = event.holding;
    } else if (own.there) {
      watch.remove(event, allocator.block_size(own.block));
      allocator.free(own.block);
      own.there = false;
    }
  }
  const Replay whole = seen();
  return {whole, first.value_or(whole)};
}

Replay replay_log(const StorageLog& log, const CachingAllocatorOptions& options) { return replay_steps(log, options, 0).whole; }

namespace {

/// A birth or death, without what an allocator does not ask for.
struct Change {
  std::int64_t bytes = 0;   ///< 0: a death
  std::uint32_t slot = 0;   ///< storages that do not live at once share them, so that few are looked at again and again
  std::uint32_t stream = 0;
};

/// The log's births and deaths.
class Changes {
 public:
  explicit Changes(const StorageLog& log) {
    std::vector<std::uint32_t> slot_of(log.storages(), kNone), unused;
    list.reserve(log.events().size());
    for (const StorageEvent& event : log.events()) {
      std::uint32_t& slot = slot_of[event.storage];
      if (event.bytes == Bytes(0) || event.change == StorageChange::kRenamed) continue;
      if (event.change == StorageChange::kBorn) {
        if (unused.empty()) unused.push_back(slots++);
        slot = unused.back();
        unused.pop_back();
        list.push_back({.bytes = event.bytes.count, .slot = slot, .stream = event.stream});
      } else if (slot != kNone) {
        list.push_back({.bytes = 0, .slot = slot, .stream = event.stream});
        unused.push_back(slot);
        slot = kNone;
      }
    }
  }

  std::vector<Change> list;
  std::uint32_t slots = 0;

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;
};

/// An allocator on its way through the changes. A copy goes on from where it stands.
class Course {
 public:
  Course(const Changes& changes, const CachingAllocatorOptions& options)
      : changes_(changes), allocator_(options), blocks_(changes.slots) {}

  /// As far as everything is met with every limit of at least that.
  void run_within(Bytes limit) {
    for (; next_ < changes_.list.size(); ++next_) {
      const Change& change = changes_.list[next_];
      if (change.bytes > 0 && !allocator_.is_met_within(limit, Bytes(change.bytes), change.stream)) return;
      take(change);
    }
  }

  /// To the end, or until memory runs out.
  void run_with(Bytes limit) {
    allocator_.set_limit(limit);
    while (next_ < changes_.list.size() && take(changes_.list[next_])) ++next_;
  }

  [[nodiscard]] bool ended() const { return next_ == changes_.list.size(); }
  [[nodiscard]] const CachingAllocator& allocator() const { return allocator_; }

 private:
  bool take(const Change& change) {
    if (change.bytes == 0) {
      allocator_.free(blocks_[change.slot]);
      return true;
    }
    const auto block = allocator_.allocate(Bytes(change.bytes), change.stream);
    if (block) blocks_[change.slot] = *block;
    return block.has_value();
  }

  const Changes& changes_;
  CachingAllocator allocator_;
  std::vector<CachingAllocator::BlockId> blocks_;
  std::size_t next_ = 0;
};

/// Limits with which everything goes as with one that was tried.
struct Tried {
  Bytes from;
  Bytes until;  ///< not among them
  bool enough = false;
};

/// Tries limits, and remembers which others go alike.
class Limits {
 public:
  Limits(const StorageLog& log, const CachingAllocatorOptions& options) : changes_(log), common_(changes_, options) {}

  /// `low`: a limit, or one byte less than the least, that no later question goes below.
  bool is_enough(Bytes limit, Bytes low) {
    for (const Tried& one : tried_) {
      if (one.from <= limit && limit < one.until) return one.enough;
    }
    common_.run_within(low);
    Course course = common_;
    course.run_with(limit);
    const Bytes until = course.allocator().least_refused().value_or(Bytes(INT64_MAX));
    tried_.push_back({course.allocator().peak_reserved(), until, course.ended()});
    return course.ended();
  }

 private:
  Changes changes_;
  Course common_;
  std::vector<Tried> tried_;
};

}  // namespace

Bytes least_memory(const StorageLog& log, const CachingAllocatorOptions& options, const Replay& unlimited, Bytes good) {
  constexpr Bytes kPrecision = 2 * kMiB;
  Bytes too_little = unlimited.allocated - Bytes(1);
  Bytes enough = unlimited.reserved;
  std::optional<Limits> limits;
  while (enough - too_little > kPrecision && enough > good) {
    if (!limits) limits.emplace(log, options);
    const Bytes tried((too_little.count + enough.count) / 2);
    (limits->is_enough(tried, too_little + Bytes(1)) ? enough : too_little) = tried;
  }
  return enough;
}

}  // namespace plimsoll
