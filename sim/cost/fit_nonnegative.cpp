#include "sim/cost/fit_nonnegative.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace plimsoll {
namespace {

constexpr std::size_t kTerms = 3;  // constant, flops, bytes
using Row = std::array<double, kTerms>;
using TermSet = std::vector<std::size_t>;

constexpr double kWorthATerm = 0.9;
constexpr double kSingular = 1e-9;
constexpr double kExact = 1e-12;

/// Each row divided by its time (so that the right side is 1) and each column by its largest entry.
struct Scaled {
  std::vector<Row> rows;
  Row scale{};
};

Scaled scaled(std::span<const WorkTime> observations) {
  Scaled s;
  for (const auto& o : observations) s.rows.push_back({1.0 / o.time, o.flops / o.time, o.bytes / o.time});
  for (std::size_t j = 0; j < kTerms; ++j) {
    for (const auto& row : s.rows) s.scale[j] = std::max(s.scale[j], row[j]);
    for (auto& row : s.rows) row[j] = s.scale[j] > 0 ? row[j] / s.scale[j] : 0.0;
  }
  return s;
}

/// Solves the square system whose last column is the right side by elimination with pivots; nothing when it is
/// singular.
std::optional<std::vector<double>> solve(std::vector<std::vector<double>> m) {
  const std::size_t n = m.size();
  for (std::size_t k = 0; k < n; ++k) {
    const auto pivot = std::max_element(m.begin() + static_cast<std::ptrdiff_t>(k), m.end(),
                                        [&](const auto& a, const auto& b) { return std::abs(a[k]) < std::abs(b[k]); });
    if (std::abs((*pivot)[k]) < kSingular) return std::nullopt;
    std::swap(*pivot, m[k]);
    for (std::size_t i = 0; i < n; ++i) {
      if (i == k) continue;
      const double factor = m[i][k] / m[k][k];
      for (std::size_t j = k; j <= n; ++j) m[i][j] -= factor * m[k][j];
    }
  }
  std::vector<double> x;
  for (std::size_t k = 0; k < n; ++k) x.push_back(m[k][n] / m[k][k]);
  return x;
}

/// Coefficients of the chosen terms by the normal equations; nothing when one would be negative.
std::optional<Row> fit_terms(const Scaled& s, const TermSet& terms) {
  std::vector<std::vector<double>> normal(terms.size(), std::vector<double>(terms.size() + 1, 0.0));
  for (const auto& row : s.rows) {
    for (std::size_t i = 0; i < terms.size(); ++i) {
      for (std::size_t j = 0; j < terms.size(); ++j) normal[i][j] += row[terms[i]] * row[terms[j]];
      normal[i].back() += row[terms[i]];
    }
  }
  const auto solution = solve(std::move(normal));
  if (!solution) return std::nullopt;
  Row coefficients{};
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if ((*solution)[i] < 0) return std::nullopt;
    coefficients[terms[i]] = (*solution)[i];
  }
  return coefficients;
}

double squares(const Scaled& s, const Row& coefficients) {
  double sum = 0;
  for (const auto& row : s.rows) {
    const double error = row[0] * coefficients[0] + row[1] * coefficients[1] + row[2] * coefficients[2] - 1.0;
    sum += error * error;
  }
  return sum;
}

}  // namespace

WorkRates fit_nonnegative(std::span<const WorkTime> observations, bool flops_first) {
  const Scaled s = scaled(observations);
  const std::size_t first = flops_first ? 1 : 2;
  const std::size_t second = flops_first ? 2 : 1;
  const std::vector<TermSet> sets{{first}, {second}, {0, first}, {0, second}, {1, 2}, {0, 1, 2}, {0}};
  std::optional<Row> best;
  double best_squares = 0;
  for (const auto& terms : sets) {
    if (terms.size() > observations.size()) continue;
    const auto coefficients = fit_terms(s, terms);
    if (!coefficients) continue;
    const double sum = squares(s, *coefficients);
    if (best && (best_squares < kExact || sum > kWorthATerm * best_squares)) continue;
    best = coefficients;
    best_squares = sum;
  }
  if (!best) return {};
  const auto unscaled = [&](std::size_t term) { return s.scale[term] > 0 ? (*best)[term] / s.scale[term] : 0.0; };
  return {.constant = unscaled(0), .per_flop = unscaled(1), .per_byte = unscaled(2)};
}

}  // namespace plimsoll
