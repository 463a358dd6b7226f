#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"
#include "executor/cpu/arena.h"
#include "executor/tiers/drive.h"

namespace plimsoll {

/// What the plan keeps in a space from step to step, with all its versions; sorted by begin.
std::vector<ByteRange> state_ranges(const Plan& plan, SpaceId space);

/// All arenas of a plan; on the CPU backend every space, a GPU's too, is host memory, but for SSDs, which are files.
class ArenaSet {
 public:
  /// Reserves and prefaults them. Throws EnvironmentError that says how many bytes are missing, before taking any.
  explicit ArenaSet(const Plan& plan, const DriveOptions& drives = {});

  /// Makes them the arenas of `plan`, which has the same spaces: what both have keeps its contents, but may move to
  /// another address. Throws as the constructor does; then some may be longer, and nothing is lost. Drives must be
  /// started again.
  void resize(const Plan& plan);

  /// Address of a byte of a space that has an arena in memory.
  [[nodiscard]] std::byte* at(SpaceId space, Bytes offset) const;
  /// Of the space's arena, 0 where it has none in memory.
  [[nodiscard]] Bytes size_in_memory(SpaceId space) const {
    return entries_[space.index].memory ? entries_[space.index].memory->size() : Bytes(0);
  }
  /// The file of an SSD that has an arena; nullptr for memory.
  [[nodiscard]] Drive* drive(SpaceId space) const { return entries_[space.index].drive.get(); }
  /// Every drive, by space.
  [[nodiscard]] std::vector<Drive*> drives() const;

  void fill_zeros();
  void fill_canary();
  /// The same, but for what `plan` keeps from step to step.
  void fill_canary_outside_state(const Plan& plan);
  /// From now on what is written to drives counts as touched only beyond what `plan` keeps there.
  void count_drives_from_state(const Plan& plan);

  /// One past the highest touched byte of a space's arena.
  [[nodiscard]] Bytes touched(SpaceId space) const;
  /// Names the first touched byte of any arena in memory that lies in no buffer of `plan`.
  [[nodiscard]] Result<void> check_touched(const Plan& plan) const;

 private:
  /// At most one of the two.
  struct Entry {
    std::unique_ptr<HostArena> memory;
    std::unique_ptr<Drive> drive;
  };
  /// Throws when memory that the arenas would grow by is not there.
  void check_available(const Plan& plan) const;
  void resize_memory(Entry& entry, Bytes bytes);
  void resize_drive(const Plan& plan, SpaceId space, bool direct);

  DriveOptions options_;
  std::vector<Entry> entries_;  ///< by space
};

}  // namespace plimsoll
