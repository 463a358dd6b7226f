#include "executor/kernels/experts/balance_loss.h"

namespace plimsoll::kernels {
namespace {

double real(std::int64_t n) { return static_cast<double>(n); }

/// What stands before Σ f·P of a group: α·E (Switch, equation 4) or 1/E (GShard, algorithm 1, line 13), of the groups' mean.
double factor_of(const ExpertSpec& e, const OpShape& s) {
  const double scale = e.gating == GatingKind::kSwitch ? real(s.experts) : 1 / real(s.experts);
  return e.balance * scale / real(s.groups);
}

enum class Share { kImportance, kLoad };

/// Sums over the groups.
std::vector<double> totals(const OpShape& s, const RouterStatistics& of, Share which) {
  std::vector<double> sums(static_cast<std::size_t>(s.experts), 0.0);
  for (std::int64_t g = 0; g < s.groups; ++g) {
    for (std::int64_t e = 0; e < s.experts; ++e) {
      sums[static_cast<std::size_t>(e)] += which == Share::kLoad ? of.load(g, e) : of.weight(g, e);
    }
  }
  return sums;
}

struct Variation {
  double mean = 0;
  double variance = 0;

  /// The squared coefficient of variation.
  [[nodiscard]] double squared() const { return mean == 0 ? 0 : variance / (mean * mean); }
  /// Its derivative by one of `count` values.
  [[nodiscard]] double slope(double value, double count) const {
    if (mean == 0) return 0;
    return 2 / (count * mean * mean) * (value - mean) - 2 * variance / (count * mean * mean * mean);
  }
};

Variation variation_of(const std::vector<double>& values) {
  Variation v;
  for (const double x : values) v.mean += x / static_cast<double>(values.size());
  for (const double x : values) v.variance += (x - v.mean) * (x - v.mean) / static_cast<double>(values.size());
  return v;
}

std::vector<double> variation_slopes(const std::vector<double>& values, double coefficient) {
  const Variation v = variation_of(values);
  std::vector<double> slopes;
  for (const double x : values) slopes.push_back(coefficient * v.slope(x, static_cast<double>(values.size())));
  return slopes;
}

}  // namespace

double block_balance_loss(const ExpertSpec& experts, const OpShape& s, const RouterStatistics& of) {
  if (experts.gating == GatingKind::kTopK) return 0;
  if (experts.gating == GatingKind::kNoisy) {
    return experts.balance * variation_of(totals(s, of, Share::kImportance)).squared() +
           experts.load * variation_of(totals(s, of, Share::kLoad)).squared();
  }
  const double tokens = real(s.rows / s.groups);
  double sum = 0;
  for (std::int64_t g = 0; g < s.groups; ++g) {
    for (std::int64_t e = 0; e < s.experts; ++e) sum += of.chosen(g, e) / tokens * (of.weight(g, e) / tokens);
  }
  return factor_of(experts, s) * sum;
}

std::vector<double> balance_slopes(const ExpertSpec& experts, const OpShape& s, const RouterStatistics& of,
                                   const double* slopes) {
  std::vector<double> all;
  const double tokens = real(s.rows / s.groups);
  const bool noisy = experts.gating == GatingKind::kNoisy;
  const std::vector<double> varied =
      noisy ? variation_slopes(totals(s, of, Share::kImportance), experts.balance) : std::vector<double>();
  for (std::int64_t g = 0; g < s.groups; ++g) {
    for (std::int64_t e = 0; e < s.experts; ++e) {
      if (noisy) {
        all.push_back(varied[static_cast<std::size_t>(e)]);
      } else if (experts.gating == GatingKind::kTopK) {
        all.push_back(slopes[e]);
      } else {
        all.push_back(factor_of(experts, s) * of.chosen(g, e) / (tokens * tokens));
      }
    }
  }
  return all;
}

std::vector<double> load_slopes(const ExpertSpec& experts, const OpShape& s, const RouterStatistics& of) {
  if (experts.load == 0) return {};
  return variation_slopes(totals(s, of, Share::kLoad), experts.load);
}

}  // namespace plimsoll::kernels
