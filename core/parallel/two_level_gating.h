#pragma once

#include <cstdint>

#include "core/base/result.h"

namespace plimsoll {

/// A mixture of experts in groups: a first gate chooses groups, a gate of each chosen group its experts, and an expert's weight
/// is the product of both (Shazeer et al. 2017, appendix B).
struct TwoLevelGating {
  std::int64_t groups = 1;
  std::int64_t experts_per_group = 1;
  std::int64_t groups_per_token = 1;
  std::int64_t experts_per_chosen = 1;

  [[nodiscard]] std::int64_t experts() const { return groups * experts_per_group; }
  [[nodiscard]] std::int64_t experts_per_token() const { return groups_per_token * experts_per_chosen; }
};

Result<void> validate(const TwoLevelGating& gating);

}  // namespace plimsoll
