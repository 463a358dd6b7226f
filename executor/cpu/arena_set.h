#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"
#include "executor/cpu/arena.h"

namespace plimsoll {

/// All arenas of a plan; on the CPU backend every space, a GPU's too, is host memory.
class ArenaSet {
 public:
  /// Reserves and prefaults them. Throws EnvironmentError that says how many bytes are missing, before taking any.
  explicit ArenaSet(const Plan& plan);

  /// Address of a byte of a space that has an arena.
  [[nodiscard]] std::byte* at(SpaceId space, Bytes offset) const;

  void fill_zeros();
  void fill_canary();

  /// One past the highest touched byte of each arena, in the plan's order of arenas.
  [[nodiscard]] std::vector<Bytes> touched() const;
  /// Names the first touched byte of any arena that lies in no buffer of `plan`.
  [[nodiscard]] Result<void> check_touched(const Plan& plan) const;

 private:
  struct Entry {
    SpaceId space;
    std::unique_ptr<HostArena> arena;
  };
  std::vector<Entry> entries_;
  std::vector<HostArena*> by_space_;
};

}  // namespace plimsoll
