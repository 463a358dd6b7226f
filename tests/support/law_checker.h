#pragma once

#include <optional>
#include <string>

#include "core/plan/plan.h"

namespace plimsoll::test {

/// Why the plan breaks the law of plans (docs/law-of-plans.md), or nothing. Written from that page alone: it expands
/// blocks itself, lays `steps` copies of each body one after another, works out who reaches whom, and looks at every
/// pair of uses. Slow and simple: what verify_plan is compared with. Of kernels it knows those that random plans
/// launch; `steps` must be twice the least common multiple of the numbers of slots.
std::optional<std::string> broken_law(const Plan& plan, std::uint32_t steps);

}  // namespace plimsoll::test
