#pragma once

#include <optional>
#include <utility>
#include <vector>

namespace plimsoll {

/// Spearman's rank correlation of pairs (published, predicted); ties share their mean rank. Nothing for fewer than three
/// pairs or where one side has no order at all.
std::optional<double> rank_correlation(const std::vector<std::pair<double, double>>& pairs);

}  // namespace plimsoll
