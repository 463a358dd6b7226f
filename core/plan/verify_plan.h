#pragma once

#include <cstdint>

#include "core/base/result.h"
#include "core/plan/plan.h"

namespace plimsoll {

/// What verification looked at, for people who want to know that it looked.
struct VerifyReport {
  std::uint64_t instructions = 0;  ///< of all bodies, expanded once
  std::uint64_t checked_uses = 0;
  std::uint32_t expanded_bodies = 0;  ///< copies of the step that were laid one after another
};

/// Checks that every index of the plan is in range, so that it can be expanded. For plans that come from files.
Result<void> check_indices(const Plan& plan);

/// Proves the law of plans for `plan`: dependencies are smaller ids (or earlier steps); every pair of overlapping uses of
/// which one writes is ordered by a happens-before path; buffers lie inside arenas and arenas inside usable memory;
/// a launch's operands lie in its processor's memory and match its kernel; copies run along a real link between equal sizes.
/// Expands max(slots, distance) + 1 copies of each body. The first defect is returned with the ids concerned.
Result<VerifyReport> verify_plan(const Plan& plan);

}  // namespace plimsoll
