#include "sim/planner/linear_programme.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <random>

using namespace plimsoll;

namespace {

double value(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

bool keeps_to(const LinearProgramme& lp, const std::vector<double>& x) {
  for (std::size_t r = 0; r < lp.rows.size(); ++r) {
    if (value(lp.rows[r], x) > lp.limits[r] + 1e-6) return false;
  }
  return std::all_of(x.begin(), x.end(), [](double one) { return one >= 0; });
}

/// Of two variables: the least over all corners, where two of the lines (or axes) cross; nothing where no corner is allowed.
std::optional<double> least_of_corners(const LinearProgramme& lp) {
  LinearProgramme all = lp;
  all.add({-1, 0}, 0);
  all.add({0, -1}, 0);
  std::optional<double> least;
  for (std::size_t i = 0; i < all.rows.size(); ++i) {
    for (std::size_t k = i + 1; k < all.rows.size(); ++k) {
      const auto &a = all.rows[i], &b = all.rows[k];
      const double det = a[0] * b[1] - a[1] * b[0];
      if (std::abs(det) < 1e-9) continue;
      const std::vector<double> x{(all.limits[i] * b[1] - a[1] * all.limits[k]) / det,
                                  (a[0] * all.limits[k] - all.limits[i] * b[0]) / det};
      if (x[0] < -1e-6 || x[1] < -1e-6 || !keeps_to(lp, {std::max(0.0, x[0]), std::max(0.0, x[1])})) continue;
      const double cost = value(lp.cost, x);
      if (!least || cost < *least) least = cost;
    }
  }
  return least;
}

}  // namespace

TEST_CASE("a linear programme's answer is the one worked out by hand") {
  // The most of 3x + 5y with x <= 4, 2y <= 12, 3x + 2y <= 18: the corners are (0, 0), (4, 0), (4, 3), (2, 6) and (0, 6), of
  // which (2, 6) gives 6 + 30 = 36.
  LinearProgramme lp{.cost = {-3, -5}, .rows = {}, .limits = {}};
  lp.add({1, 0}, 4);
  lp.add({0, 2}, 12);
  lp.add({3, 2}, 18);
  const auto x = solve(lp);
  REQUIRE(x);
  CHECK((*x)[0] == Approx(2));
  CHECK((*x)[1] == Approx(6));
}

TEST_CASE("a linear programme that must first be made possible is, and one that cannot be has no answer") {
  // x + y >= 2, x <= 1.5: the least of x + 2y is at y = 0.5, 1.5 + 1 = 2.5.
  LinearProgramme lp{.cost = {1, 2}, .rows = {}, .limits = {}};
  lp.add({-1, -1}, -2);
  lp.add({1, 0}, 1.5);
  const auto x = solve(lp);
  REQUIRE(x);
  CHECK(value(lp.cost, *x) == Approx(2.5));
  lp.add({0, 1}, 0.25);  // then x + y is 1.75 at the most
  CHECK_FALSE(solve(lp));
}

TEST_CASE("a cost that falls without end has no least") {
  LinearProgramme lp{.cost = {-1, 0}, .rows = {}, .limits = {}};
  lp.add({0, 1}, 1);
  CHECK_FALSE(solve(lp));
}

TEST_CASE("random programmes of two variables have the least of all corners, or none where no corner is allowed") {
  std::mt19937 random(7);
  const auto whole = [&](int low, int high) { return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1)); };
  int possible = 0, impossible = 0;
  for (int trial = 0; trial < 500; ++trial) {
    LinearProgramme lp{.cost = {static_cast<double>(whole(-4, 4)), static_cast<double>(whole(-4, 4))}, .rows = {}, .limits = {}};
    lp.add({1, 0}, whole(1, 6));  // so that it is bounded
    lp.add({0, 1}, whole(1, 6));
    for (int r = whole(0, 4); r > 0; --r) {
      lp.add({static_cast<double>(whole(-3, 3)), static_cast<double>(whole(-3, 3))}, whole(-5, 8));
    }
    const auto expected = least_of_corners(lp);
    const auto x = solve(lp);
    CAPTURE(trial);
    REQUIRE(x.has_value() == expected.has_value());
    (x ? possible : impossible) += 1;
    if (!x) continue;
    CHECK(keeps_to(lp, *x));
    CHECK(value(lp.cost, *x) == Approx(*expected).margin(1e-6));
  }
  CHECK(possible > 100);
  CHECK(impossible > 20);
}
