#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"

namespace plimsoll {

/// Where one state of one group begins in a space's arena, and how long its buffer is there (drives: whole blocks).
struct StatePlace {
  SpaceId space;
  Bytes offset;
  Bytes room;

  bool operator==(const StatePlace&) const = default;
};

/// One state of one group on its way from one plan's layout to another's.
struct StateMove {
  std::string name;  ///< "first_moment of block 3"
  TensorKind category = TensorKind::kParameter;
  StatePlace from;
  StatePlace to;
  Bytes bytes;  ///< of the state itself

  /// Whether the state lies where it is wanted.
  [[nodiscard]] bool stays() const { return from.space == to.space && from.offset == to.offset; }
};

/// Every state that `next` keeps, from where `old` has it after `steps_done` steps to where the next step of `next` reads
/// it. In fp32 the weights that compute reads and the optimizer's are the same numbers, so that one copy may become two
/// or two one; of several copies the nearest is taken. Refused when the plans train different numbers, or the machines
/// that they are made for have different memories.
Result<std::vector<StateMove>> state_moves(const Plan& old, const Plan& next, std::int64_t steps_done);

}  // namespace plimsoll
