#include "executor/cpu/arena_set.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/plan/expand.h"
#include "formats/machines/available_memory.h"

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

bool is_drive(const Plan& plan, const Arena& arena) { return plan.platform.at(arena.space).kind == SpaceKind::kSsd; }

/// Whether everything that crosses to or from a drive is whole blocks, as files that bypass the page cache require.
bool moves_whole_blocks(const Plan& plan) {
  const auto whole = [](Bytes bytes) { return bytes.count % kStorageAlignment.count == 0; };
  for (const Body& named : plan.bodies) {
    const FlatBody body = expand(plan, named);
    for (const Instruction& instruction : body.list.instructions) {
      if (instruction.kind != InstructionKind::kRead && instruction.kind != InstructionKind::kWrite) continue;
      for (const Use& use : body.uses(instruction)) {
        const Buffer& buffer = plan.buffers[use.target];
        if (!whole(buffer.offset + use.offset) || !whole(use.bytes)) return false;
        if (buffer.slots > 1 && !whole(buffer.pitch())) return false;
      }
    }
  }
  return true;
}

/// What the plan's platform says that transfers to and from `drive` reach; nothing when it does not say it for both.
std::optional<ExpectedRates> expected_rates(const Platform& platform, SpaceId drive) {
  ExpectedRates rates;
  for (const Link& link : platform.links) {
    if (link.from == drive) rates.read = std::max(rates.read, link.bytes_per_second);
    if (link.to == drive) rates.write = std::max(rates.write, link.bytes_per_second);
  }
  return rates.read > 0 && rates.write > 0 ? std::optional(rates) : std::nullopt;
}

void check_available(const Plan& plan, const DriveOptions& drives) {
  Bytes needed;
  for (const Arena& arena : plan.arenas) {
    const bool in_memory =
        !is_drive(plan, arena) || file_system_of(drives.folder).sort == FileSystemSort::kMemory;  // a folder in RAM
    if (in_memory) needed += arena.bytes;
  }
  const Bytes available = available_memory().bytes;
  if (needed <= available) return;
  throw EnvironmentError(
      {.kind = ErrorKind::kEnvironment,
       .what = fmt::format("the plan's arenas need {} but {} is available: {} bytes are missing", to_text(needed),
                           to_text(available), (needed - available).count),
       .where = {},
       .remedy = fmt::format("close other programs, or plan for at most {} bytes", available.count)});
}

}  // namespace

ArenaSet::ArenaSet(const Plan& plan, const DriveOptions& drives)
    : by_space_(plan.platform.spaces.size(), nullptr), drives_(plan.platform.spaces.size(), nullptr) {
  check_available(plan, drives);
  const bool direct = moves_whole_blocks(plan);
  for (const Arena& arena : plan.arenas) {  // a missing gigabyte on the drive should not cost prefaulting the memory
    if (!is_drive(plan, arena)) continue;
    auto drive = std::make_unique<Drive>(arena.bytes, direct, drives);
    if (const auto rates = expected_rates(plan.platform, arena.space)) drive->expect(*rates);
    drives_[arena.space.index] = drive.get();
    entries_.push_back({.space = arena.space, .arena = {}, .drive = std::move(drive)});
  }
  for (const Arena& arena : plan.arenas) {
    if (is_drive(plan, arena)) continue;
    entries_.push_back({.space = arena.space, .arena = std::make_unique<HostArena>(arena.bytes), .drive = {}});
    by_space_[arena.space.index] = entries_.back().arena.get();
  }
}

std::vector<Drive*> ArenaSet::drives() const {
  std::vector<Drive*> found;
  for (Drive* drive : drives_) {
    if (drive != nullptr) found.push_back(drive);
  }
  return found;
}

std::byte* ArenaSet::at(SpaceId space, Bytes offset) const { return by_space_[space.index]->data() + offset.count; }

void ArenaSet::fill_zeros() {
  for (const Entry& entry : entries_) {
    if (entry.arena) entry.arena->fill_zeros();
  }
}

void ArenaSet::fill_canary() {
  for (const Entry& entry : entries_) {
    if (entry.arena) entry.arena->fill_canary();
  }
}

Bytes ArenaSet::touched(SpaceId space) const {
  const Drive* file = drive(space);
  return file != nullptr ? file->touched() : by_space_[space.index]->touched();
}

Result<void> ArenaSet::check_touched(const Plan& plan) const {
  for (const Entry& entry : entries_) {
    if (!entry.arena) continue;
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
