#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/model/parameters.h"
#include "executor/cpu/arena_set.h"
#include "executor/cpu/program.h"

namespace plimsoll {

/// The state that a plan keeps from step to step, in memory or on drives. What lies on a drive passes through the
/// memory in which a step stages it, which holds nothing while no step runs, or, where a step reads it into a device's memory alone,
/// through some of its own. Not for use while one does.
class StateStore {
 public:
  /// Keeps references. `step` is the training step's program, which stages every state on a drive (check_runnable).
  StateStore(const Plan& plan, const Program& step, const ArenaSet& arenas);

  /// The bytes of one of the plan's bindings after so many steps, of the state's true size; valid until the next call or
  /// step.
  [[nodiscard]] std::span<const std::byte> read(const StateBinding& binding, std::int64_t steps_done) const;
  /// Lets `fill` write them once, and puts that into every version. Both throw EnvironmentError when the drive fails.
  void write(const StateBinding& binding, const std::function<void(std::span<std::byte>)>& fill) const;

 private:
  /// Memory that holds a slot of the buffer, or what is staged of it; as long as the buffer.
  [[nodiscard]] std::span<std::byte> memory_of(BufferId id, std::uint32_t slot) const;
  [[nodiscard]] std::byte* passing(Bytes bytes) const;
  [[nodiscard]] std::size_t size_of_state(const StateBinding& binding) const;

  const Plan& plan_;
  const ArenaSet& arenas_;
  ParameterLayout layout_;
  std::vector<std::byte*> staged_;  ///< by buffer: where in memory here a step reads it to; null where it does not
  mutable std::unique_ptr<HostArena> passing_;  ///< for what no step reads to memory here; as long as the longest that passed
};

}  // namespace plimsoll
