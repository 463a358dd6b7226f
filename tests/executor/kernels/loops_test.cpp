#include "executor/kernels/loops.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace plimsoll {
namespace {

/// Largest error of exp over [low, high], in units of the last place of the exact value.
template <typename T>
double worst_exp_error(double low, double high) {
  constexpr std::int64_t kPoints = 200001;
  std::vector<T> x(kPoints);
  for (std::int64_t i = 0; i < kPoints; ++i) {
    x[static_cast<std::size_t>(i)] = static_cast<T>(low + (high - low) * static_cast<double>(i) / (kPoints - 1));
  }
  std::vector<T> y = x;
  loops<T>().exp_in_place(kPoints, T(1), T(0), y.data());
  double worst = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const long double exact = std::exp(static_cast<long double>(x[i]));
    const T near = static_cast<T>(exact);
    const T place = std::nextafter(near, std::numeric_limits<T>::infinity()) - near;
    worst = std::max(worst, static_cast<double>(std::abs(static_cast<long double>(y[i]) - exact) / place));
  }
  return worst;
}

TEST_CASE("the vectorised exponential errs by less than two units in the last place") {
  CHECK(worst_exp_error<float>(-87, 88) < 2);
  CHECK(worst_exp_error<float>(-1, 1) < 2);
  CHECK(worst_exp_error<double>(-708, 709) < 2);
  CHECK(worst_exp_error<double>(-1, 1) < 2);
}

TEST_CASE("the exponential of what is not a number is none, and that of a huge negative one is next to nothing") {
  std::vector<float> x{std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity(), -1e30F, 0};
  loops<float>().exp_in_place(4, 1.0F, 0.0F, x.data());
  CHECK(std::isnan(x[0]));
  CHECK(x[1] < 1e-37F);
  CHECK(x[2] < 1e-37F);
  CHECK(x[3] == 1);
}

TEST_CASE("where a row starts in memory changes no bit of a sum") {
  std::vector<float> x(1000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  const float sum = loops<float>().dot(999, x.data(), x.data());
  for (std::size_t shift = 1; shift < 20; ++shift) {
    std::vector<float> moved(x.size() + shift);
    std::copy(x.begin(), x.end(), moved.begin() + static_cast<std::ptrdiff_t>(shift));
    CHECK(loops<float>().dot(999, moved.data() + shift, moved.data() + shift) == sum);
  }
}

TEST_CASE("the chosen instruction set has a name") {
  const std::string variant = loops_variant();
  CHECK((variant == "x86-64-v4" || variant == "x86-64-v3" || variant == "baseline"));
}

}  // namespace
}  // namespace plimsoll
