#include "executor/cpu/arena_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "core/plan/expand.h"
#include "formats/machines/available_memory.h"

namespace plimsoll {
namespace {

enum class Covered { kEverything, kState };

/// Ranges of one space that buffers (all their slots) cover, or only those that are kept from step to step; sorted.
std::vector<ByteRange> covered(const Plan& plan, SpaceId space, Covered what) {
  std::vector<ByteRange> ranges;
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.space != space || (what == Covered::kState && !buffer.persistent)) continue;
    for (std::uint32_t slot = 0; slot < buffer.slots; ++slot) {
      const Bytes begin = buffer.offset_in(slot);
      ranges.emplace_back(begin, begin + buffer.bytes);
    }
  }
  std::sort(ranges.begin(), ranges.end());
  return ranges;
}

bool is_drive(const Plan& plan, SpaceId space) { return plan.platform.at(space).kind == SpaceKind::kSsd; }

/// Whether everything that crosses to or from a drive is whole blocks, as files that bypass the page cache require.
bool moves_whole_blocks(const Plan& plan) {
  const auto whole = [](Bytes bytes) { return bytes.count % kStorageAlignment.count == 0; };
  for (const Body& named : plan.bodies) {
    const FlatBody body = expand(plan, named);
    for (const Instruction& instruction : body.list.instructions) {
      if (instruction.kind != InstructionKind::kRead && instruction.kind != InstructionKind::kWrite) continue;
      for (const Use& use : body.uses(instruction).first(2)) {  // what it moves; the third is a guard's flag
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

/// Tells of what state of which group an offset of the space is.
std::function<std::string(Bytes)> names_of_states(const Plan& plan, SpaceId space) {
  std::map<Bytes, std::pair<Bytes, std::string>> ranges;  // by begin: end and name
  for (const StateBinding& state : plan.state) {
    const Buffer& buffer = plan.at(state.buffer);
    if (buffer.space != space) continue;
    for (std::uint32_t slot = 0; slot < buffer.slots; ++slot) {
      const Bytes begin = buffer.offset_in(slot);
      ranges[begin] = {begin + buffer.bytes, fmt::format("{} of group {}", to_text(state.kind), state.group.index)};
    }
  }
  return [ranges = std::move(ranges)](Bytes at) {
    const auto after = ranges.upper_bound(at);
    const bool inside = after != ranges.begin() && at < std::prev(after)->second.first;
    return inside ? std::prev(after)->second.second : std::string();
  };
}

}  // namespace

std::vector<ByteRange> state_ranges(const Plan& plan, SpaceId space) { return covered(plan, space, Covered::kState); }

ArenaSet::ArenaSet(const Plan& plan, const DriveOptions& drives)
    : options_(drives), entries_(plan.platform.spaces.size()) {
  resize(plan);
}

void ArenaSet::resize(const Plan& plan) {
  check_available(plan);
  const bool direct = moves_whole_blocks(plan);
  for (const bool drives : {true, false}) {  // a missing gigabyte on the drive should not cost prefaulting the memory
    for (std::uint32_t s = 0; s < entries_.size(); ++s) {
      if (is_drive(plan, SpaceId(s)) != drives) continue;
      const Bytes bytes = plan.arena_bytes(SpaceId(s));
      drives ? resize_drive(plan, SpaceId(s), direct) : resize_memory(entries_[s], bytes);
    }
  }
}

void ArenaSet::check_available(const Plan& plan) const {
  Bytes needed;
  for (std::uint32_t s = 0; s < entries_.size(); ++s) {
    const bool in_memory = !is_drive(plan, SpaceId(s)) ||
                           file_system_of(options_.folder).sort == FileSystemSort::kMemory;  // a folder in RAM
    if (!in_memory) continue;
    const Entry& entry = entries_[s];
    const Bytes held = entry.memory ? entry.memory->size() : entry.drive ? entry.drive->size() : Bytes(0);
    needed += std::max(Bytes(0), plan.arena_bytes(SpaceId(s)) - held);
  }
  if (needed.count == 0) return;
  const Bytes available = available_memory().bytes;
  if (needed <= available) return;
  throw EnvironmentError(
      {.kind = ErrorKind::kEnvironment,
       .what = fmt::format("the plan's arenas need {} but {} is available: {} bytes are missing", to_text(needed),
                           to_text(available), (needed - available).count),
       .where = {},
       .remedy = fmt::format("close other programs, or plan for at most {} bytes", available.count)});
}

void ArenaSet::resize_memory(Entry& entry, Bytes bytes) {
  if (bytes.count == 0) {
    entry.memory.reset();
  } else if (entry.memory) {
    entry.memory->resize(bytes);
  } else {
    entry.memory = std::make_unique<HostArena>(bytes);
  }
}

void ArenaSet::resize_drive(const Plan& plan, SpaceId space, bool direct) {
  Entry& entry = entries_[space.index];
  const Bytes bytes = plan.arena_bytes(space);
  if (bytes.count == 0) {
    entry.drive.reset();
  } else if (entry.drive) {
    entry.drive->resize(bytes, direct);
  } else {
    entry.drive = std::make_unique<Drive>(bytes, direct, options_);
    if (const auto rates = expected_rates(plan.platform, space)) entry.drive->expect(*rates);
  }
  if (entry.drive) entry.drive->name_chunks(names_of_states(plan, space));
}

std::vector<Drive*> ArenaSet::drives() const {
  std::vector<Drive*> found;
  for (const Entry& entry : entries_) {
    if (entry.drive) found.push_back(entry.drive.get());
  }
  return found;
}

std::byte* ArenaSet::at(SpaceId space, Bytes offset) const {
  const Entry& entry = entries_[space.index];
  return entry.memory ? entry.memory->data() + offset.count : nullptr;
}

void ArenaSet::fill_zeros() {
  for (const Entry& entry : entries_) {
    if (entry.memory) entry.memory->fill_zeros();
  }
}

void ArenaSet::fill_canary() {
  for (const Entry& entry : entries_) {
    if (entry.memory) entry.memory->fill_canary();
  }
}

void ArenaSet::fill_canary_outside_state(const Plan& plan) {
  for (std::uint32_t s = 0; s < entries_.size(); ++s) {
    if (entries_[s].memory) entries_[s].memory->fill_canary_outside(state_ranges(plan, SpaceId(s)));
  }
}

void ArenaSet::count_drives_from_state(const Plan& plan) {
  for (std::uint32_t s = 0; s < entries_.size(); ++s) {
    if (!entries_[s].drive) continue;
    Bytes end;
    for (const ByteRange& range : state_ranges(plan, SpaceId(s))) end = std::max(end, range.second);
    entries_[s].drive->count_from(end);
  }
}

Bytes ArenaSet::touched(SpaceId space) const {
  const Drive* file = drive(space);
  if (file != nullptr) return file->touched();
  return entries_[space.index].memory ? entries_[space.index].memory->touched() : Bytes(0);
}

Result<void> ArenaSet::check_touched(const Plan& plan) const {
  for (std::uint32_t s = 0; s < entries_.size(); ++s) {
    if (!entries_[s].memory) continue;
    const auto found = entries_[s].memory->first_touched_outside(covered(plan, SpaceId(s), Covered::kEverything));
    if (!found) continue;
    return fail({.kind = ErrorKind::kDefect,
                 .what = fmt::format("byte {} of the arena was written but lies in no buffer", found->count),
                 .where = plan.platform.at(SpaceId(s)).name,
                 .remedy = {}});
  }
  return {};
}

}  // namespace plimsoll
