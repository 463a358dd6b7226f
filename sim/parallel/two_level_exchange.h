#pragma once

#include "core/model/experts.h"
#include "core/parallel/two_level_gating.h"
#include "sim/parallel/cluster.h"
#include "sim/parallel/parallel_layout.h"

namespace plimsoll {

/// Groups that experts stand in, and how many of them a token chooses before it chooses experts.
struct GroupChoice {
  std::int64_t groups = 1;
  std::int64_t chosen = 1;
};

/// A mixture's experts in groups of equal size, a group's on expert ranks side by side. Refused: a model without experts, and
/// groups that do not divide experts or expert ranks, or a token's experts.
Result<TwoLevelGating> two_level_gating(const ExpertSpec& experts, const ParallelLayout& layout, const GroupChoice& choice);

/// Seconds of one way of a block's tokens.
struct TwoLevelExchange {
  double between = 0;  ///< a token once to each chosen group: from a rank to the rank that stands in its place there
  double within = 0;   ///< from there to the experts, inside the group
  [[nodiscard]] double seconds() const { return between + within; }
};

/// `bytes`: of a rank's tokens, each once. The ways are one after another: a group's gate needs the token. On the way back a
/// group sums what its experts made of a token, so that as much is sent. The fullest rank takes `imbalance` times the mean.
TwoLevelExchange two_level_exchange(const TwoLevelGating& gating, double bytes, double imbalance, const ParallelLayout& layout,
                                    const Cluster& cluster);

/// How loads of equal parts of the experts (all experts, or all ranks) are distributed where both gates choose evenly and at
/// random; in shares of the mean, and normal.
struct TwoLevelLoad {
  double deviation = 0;  ///< of one part
  double fullest = 1;    ///< mean of the largest: 1 + √(2 ln parts) · deviation
  double seldom = 1;     ///< what the largest exceeds in one of twenty steps

  /// Share of tokens' choices that a part refuses which takes `capacity` times the mean at most.
  [[nodiscard]] double refused(double capacity) const;
};

/// Of `tokens` in all, where each group is divided into equal parts, `parts` in all. A group's visitors A are binomial, and of
/// the experts that each of them chooses hypergeometrically many, of variance v and mean k, are a part's: the variance of its
/// load is E[A] v + Var[A] k².
TwoLevelLoad two_level_load(const TwoLevelGating& gating, double tokens, std::int64_t parts);

}  // namespace plimsoll
