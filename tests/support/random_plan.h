#pragma once

#include <cstdint>

#include "core/plan/expand.h"
#include "tests/support/plan_writer.h"

namespace plimsoll::test {

struct RandomPlanOptions {
  std::uint64_t seed = 1;
  std::uint32_t instructions = 60;
  std::uint32_t buffers_per_space = 6;
  std::uint32_t max_slots = 3;
  bool ssd = true;       ///< also reads and writes of files, on queues of width 4
  bool direct = false;   ///< of files (`ssd`) half go to and from the device straight
  bool overlaps = true;  ///< buffers of a space may lie on one another, as those of a packed arena do
  bool guards = true;    ///< some launches hang on a flag
  bool ordered = true;   ///< conflicts are ordered, so that the plan obeys the law of plans
};

/// A writer filled with random instructions: launches on "compute" and "cpu", copies, file reads and writes, token
/// loads, reports and markers over random buffers, with some random dependencies (also on earlier steps). Same options,
/// same plan.
PlanWriter random_body(const RandomPlanOptions& options);

/// The finished plan of `random_body`, its only body "step" folded in short stretches.
Plan random_plan(const RandomPlanOptions& options);

}  // namespace plimsoll::test
