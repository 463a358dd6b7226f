#pragma once

#include <cstdint>
#include <optional>

#include "core/plan/expand.h"

namespace plimsoll::test {

/// Two instructions whose uses share bytes, one of them writing, with no path from the first to the second.
struct UnorderedPair {
  std::uint32_t earlier_step = 0;
  std::uint32_t earlier = 0;
  std::uint32_t later_step = 0;
  std::uint32_t later = 0;
};

/// Lays `steps` copies of the body one after another, works out who reaches whom, and looks at every pair of uses. Slow
/// and simple: what verify_plan is compared with.
std::optional<UnorderedPair> find_unordered_pair(const Plan& plan, const FlatBody& body, std::uint32_t steps);

}  // namespace plimsoll::test
