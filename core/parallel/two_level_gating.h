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

/// What a layer with experts of two matrices costs.
struct TwoLevelWork {
  double gate_parameters = 0;    ///< hidden · (groups + experts)
  double expert_parameters = 0;  ///< experts · 2 · hidden · width
  double gate_flops = 0;         ///< forward, a token: 2 · hidden · (groups + chosen groups · experts of a group)
  double expert_flops = 0;       ///< forward, a token: experts of a token · 4 · hidden · width
  double dispatched = 0;         ///< numbers a token that go to experts and come back: 2 · hidden · experts of a token
  double crossing = 0;           ///< of these, to other devices, where each has whole groups: all but one in `groups` in the mean
};

TwoLevelWork two_level_work(const TwoLevelGating& gating, std::int64_t hidden, std::int64_t width);

}  // namespace plimsoll
