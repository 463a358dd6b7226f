#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "tests/support/plan_writer.h"

namespace plimsoll::test {

/// The plan with one thing changed at random: an offset, a size, an access, a dependency, a queue, a link … The outcome
/// may obey the law of plans or break it. Slots stay at most 3.
Plan changed_plan(Plan plan, std::mt19937_64& random);

/// A body in which one instruction was made to break the law.
struct BrokenBody {
  PlanWriter writer;
  std::uint32_t instruction = 0;
  std::string how;  ///< what was done to it; empty: the change does not apply to that instruction
};

/// Number of ways that `break_instruction` knows.
inline constexpr std::uint32_t kWaysToBreak = 16;

/// Breaks instruction `id` of a lawful body in that way.
BrokenBody break_instruction(PlanWriter lawful, std::uint32_t id, std::uint32_t way);

}  // namespace plimsoll::test
