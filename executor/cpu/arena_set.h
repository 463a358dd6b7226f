#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"
#include "executor/cpu/arena.h"
#include "executor/tiers/drive.h"

namespace plimsoll {

/// All arenas of a plan; on the CPU backend every space, a GPU's too, is host memory, but for SSDs, which are files.
class ArenaSet {
 public:
  /// Reserves and prefaults them. Throws EnvironmentError that says how many bytes are missing, before taking any.
  explicit ArenaSet(const Plan& plan, const DriveOptions& drives = {});

  /// Address of a byte of a space that has an arena in memory.
  [[nodiscard]] std::byte* at(SpaceId space, Bytes offset) const;
  /// The file of an SSD that has an arena; nullptr for memory.
  [[nodiscard]] Drive* drive(SpaceId space) const { return drives_[space.index]; }
  /// Every drive, by space.
  [[nodiscard]] std::vector<Drive*> drives() const;

  void fill_zeros();
  void fill_canary();

  /// One past the highest touched byte of a space's arena.
  [[nodiscard]] Bytes touched(SpaceId space) const;
  /// Names the first touched byte of any arena in memory that lies in no buffer of `plan`.
  [[nodiscard]] Result<void> check_touched(const Plan& plan) const;

 private:
  /// One of the two.
  struct Entry {
    SpaceId space;
    std::unique_ptr<HostArena> arena;
    std::unique_ptr<Drive> drive;
  };
  std::vector<Entry> entries_;
  std::vector<HostArena*> by_space_;
  std::vector<Drive*> drives_;
};

}  // namespace plimsoll
