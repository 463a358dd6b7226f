#pragma once

#include "core/base/result.h"
#include "core/plan/plan.h"

namespace plimsoll {

/// A plan that carries the training's state from one plan's layout to another's, in the same memory.
struct Migration {
  Plan plan;      ///< of one body, "migrate", which is empty when every state lies where it is wanted
  Bytes moved;    ///< of states that change their place
  Bytes staging;  ///< memory that bytes pass through
};

/// How much goes at once.
struct MigrateOptions {
  Bytes leg = 8 * kMiB;           ///< at most, of one instruction
  std::uint32_t staged_legs = 4;  ///< under way through the staging area
};

/// Writes the migration from `old`, of which `steps_done` steps were done, to `next`. Its arenas hold either plan's, so
/// what is reserved for it is never more than what one of the two plans needs, but for a staging area in host memory
/// when neither plan leaves a gap there. Copies run along the links of `old`'s machine; within one memory the processor that
/// reaches it copies. `verify_plan` proves the result. Refused when the plans are not of one training (state_moves), or
/// when no staging area fits (kInfeasible).
Result<Migration> migrate_plan(const Plan& old, const Plan& next, std::int64_t steps_done, const MigrateOptions& options = {});

}  // namespace plimsoll
