#include "executor/cpu/arena_set.h"

#include <fmt/format.h>

#include <algorithm>

#include "executor/cpu/available_memory.h"

namespace plimsoll {
namespace {

/// Ranges of one space that buffers (all their slots) cover, sorted.
std::vector<ByteRange> covered(const Plan& plan, SpaceId space) {
  std::vector<ByteRange> ranges;
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.space != space) continue;
    for (std::uint32_t slot = 0; slot < buffer.slots; ++slot) {
      const Bytes begin = buffer.offset_in(slot);
      ranges.emplace_back(begin, begin + buffer.bytes);
    }
  }
  std::sort(ranges.begin(), ranges.end());
  return ranges;
}

void check_available(const Plan& plan) {
  Bytes needed;
  for (const Arena& arena : plan.arenas) needed += arena.bytes;
  const Bytes available = available_memory();
  if (needed <= available) return;
  throw EnvironmentError(
      {.kind = ErrorKind::kEnvironment,
       .what = fmt::format("the plan's arenas need {} but {} is available: {} bytes are missing", to_text(needed),
                           to_text(available), (needed - available).count),
       .where = {},
       .remedy = fmt::format("close other programs, or plan for at most {} bytes", available.count)});
}

}  // namespace

ArenaSet::ArenaSet(const Plan& plan) : by_space_(plan.platform.spaces.size(), nullptr) {
  check_available(plan);
  for (const Arena& arena : plan.arenas) {
    entries_.push_back({.space = arena.space, .arena = std::make_unique<HostArena>(arena.bytes)});
    by_space_[arena.space.index] = entries_.back().arena.get();
  }
}

std::byte* ArenaSet::at(SpaceId space, Bytes offset) const { return by_space_[space.index]->data() + offset.count; }

void ArenaSet::fill_zeros() {
  for (const Entry& entry : entries_) entry.arena->fill_zeros();
}

void ArenaSet::fill_canary() {
  for (const Entry& entry : entries_) entry.arena->fill_canary();
}

std::vector<Bytes> ArenaSet::touched() const {
  std::vector<Bytes> highest;
  for (const Entry& entry : entries_) highest.push_back(entry.arena->touched());
  return highest;
}

Result<void> ArenaSet::check_touched(const Plan& plan) const {
  for (const Entry& entry : entries_) {
    const auto found = entry.arena->first_touched_outside(covered(plan, entry.space));
    if (!found) continue;
    return fail({.kind = ErrorKind::kDefect,
                 .what = fmt::format("byte {} of the arena was written but lies in no buffer", found->count),
                 .where = plan.platform.at(entry.space).name,
                 .remedy = {}});
  }
  return {};
}

}  // namespace plimsoll
