#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/plan/expand.h"
#include "executor/cpu/arena_set.h"

namespace plimsoll {

/// A use with its address. Step s finds it `pitch · (s − age mod slots)` bytes after `base`, or, on a drive, after `offset`.
struct PlacedUse {
  std::byte* base = nullptr;
  Drive* drive = nullptr;
  Bytes offset;  ///< in the drive's file
  Bytes bytes;
  Bytes pitch;
  std::uint32_t slots = 1;
  Access access = Access::kRead;
  std::uint32_t age = 0;

  [[nodiscard]] std::byte* in_step(std::int64_t step) const { return base + pitch.count * slot_in(step); }
  [[nodiscard]] Bytes offset_in_step(std::int64_t step) const { return offset + pitch * slot_in(step); }
  /// In memory, in that step.
  [[nodiscard]] std::span<std::byte> bytes_in_step(std::int64_t step) const {
    return {in_step(step), static_cast<std::size_t>(bytes.count)};
  }
  /// All its slots; in memory.
  [[nodiscard]] std::span<std::byte> all_slots() const {
    return {base, static_cast<std::size_t>(pitch.count * (slots - 1) + bytes.count)};
  }
  [[nodiscard]] std::int64_t slot_in(std::int64_t step) const { return (step + (slots - age)) % slots; }
};

/// A body written out, with every use at its address.
struct Program {
  FlatBody body;
  std::vector<PlacedUse> uses;
  std::uint32_t micro_batches = 0;  ///< of one step

  [[nodiscard]] std::span<const PlacedUse> uses_of(const Instruction& instruction) const {
    return std::span(uses).subspan(instruction.first_use, instruction.use_count);
  }
};

/// Expands `body` (of a verified plan) over arenas.
Program make_program(const Plan& plan, const Body& body, const ArenaSet& arenas);

/// The same program with its uses of states fixed to the versions that step `step` finds, whatever step it runs as: for
/// bodies that turn no versions.
Program at_versions_of(const Plan& plan, const Program& program, std::int64_t step);

}  // namespace plimsoll
