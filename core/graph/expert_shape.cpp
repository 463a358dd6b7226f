#include "core/graph/expert_shape.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace plimsoll {
namespace {

double real(std::int64_t n) { return static_cast<double>(n); }

/// Mean of min(X, bound) for a normal X.
double mean_of_bounded(double mean, double deviation, double bound) {
  if (deviation <= 0) return std::min(mean, bound);
  const double z = (bound - mean) / deviation;
  const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
  const double above = 0.5 * std::erfc(z / std::numbers::sqrt2);
  return mean - deviation * (density - z * above);
}

}  // namespace

std::int64_t expert_rows(const OpShape& s) {
  const std::int64_t sent = s.rows * s.choices;
  return s.capacity == 0 ? sent : std::min(sent, s.experts * s.groups * s.capacity);
}

std::int64_t even_rows(const OpShape& s) {
  OpShape all = s;
  all.experts *= s.terms;
  return all.experts == 0 ? 0 : (expert_rows(all) + all.experts - 1) / all.experts;
}

double expected_rows(const OpShape& s) {
  if (s.capacity == 0 || s.experts == 0 || s.groups == 0) return real(expert_rows(s)) / real(std::max<std::int64_t>(1, s.terms));
  const double tokens = real(s.rows) / real(s.groups), chance = real(s.choices) / real(s.experts * s.terms);
  const double taken = mean_of_bounded(tokens * chance, std::sqrt(tokens * chance * (1 - chance)), real(s.capacity));
  return std::min(real(expert_rows(s)), real(s.experts * s.groups) * taken);
}

OpShape shape_of_share(const OpShape& s) {
  OpShape share = s;
  share.experts /= std::max<std::int64_t>(1, s.terms);
  return share;
}

GatingKind gating_of(const OpShape& s) { return static_cast<GatingKind>(s.variant); }

std::int64_t router_outputs(const OpShape& s) { return gating_of(s) == GatingKind::kNoisy ? 2 * s.experts : s.experts; }

std::int64_t scores_of_token(const OpShape& s) { return gating_of(s) == GatingKind::kNoisy ? 3 * s.experts : s.experts; }

std::int64_t routing_elements(const OpShape& s) {
  return s.experts + 1 + s.groups * s.experts + 2 * s.rows * s.choices + expert_rows(s);
}

std::int64_t statistics_elements(const OpShape& s) { return 3 * s.groups * s.experts + 1; }

}  // namespace plimsoll
