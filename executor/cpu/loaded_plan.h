#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "executor/cpu/arena_set.h"
#include "executor/cpu/program.h"
#include "executor/cpu/state_store.h"

namespace plimsoll {

/// A verified plan with its bodies laid over arenas. Stays where it is: its parts refer to each other.
struct LoadedPlan {
  /// `arenas` must be those of the plan, or longer, and must outlive it unchanged.
  LoadedPlan(const Plan& verified, const ArenaSet& arenas);
  LoadedPlan(const LoadedPlan&) = delete;
  LoadedPlan& operator=(const LoadedPlan&) = delete;

  [[nodiscard]] std::vector<const Program*> programs() const;

  const Plan plan;
  const Program step;
  const std::optional<Program> evaluation;
  const std::optional<Program> fill;
  const StateStore states;
};

/// The memory that transfers to or from a drive touch, each range once, sorted; only what `counts`, where that is given.
std::vector<std::span<std::byte>> memory_beside(const Drive& drive, std::span<const Program* const> programs,
                                                const std::function<bool(const std::byte* begin)>& counts = {});

}  // namespace plimsoll
