#include "profiler/decode/clock_fit.h"

#include <catch2/catch.hpp>

#include <vector>

namespace plimsoll {

TEST_CASE("without comparisons a clock's times are kept") {
  CHECK(fit_clock({})(123) == 123);
}

TEST_CASE("one comparison moves times and keeps their distances") {
  const std::vector<ClockPair> pairs{{1000, 5000}};
  const ClockFit fit = fit_clock(pairs);
  CHECK(fit(1000) == 5000);
  CHECK(fit(2500) == 6500);
  CHECK(fit.rate == 1.0);
}

TEST_CASE("a clock that runs fast is followed to the nanosecond over an hour") {
  // 50 parts in a million: an hour of 3.6e12 ns gains 1.8e8 ns; times are those of 2025, since 1970.
  constexpr std::int64_t kBase = 1'750'000'000'000'000'000;
  std::vector<ClockPair> pairs;
  for (std::int64_t second = 0; second <= 3600; second += 60) {
    const std::int64_t passed = second * 1'000'000'000;
    pairs.push_back({kBase + passed, kBase + 7 + passed + passed / 20'000});
  }
  const ClockFit fit = fit_clock(pairs);
  CHECK(fit.rate == Approx(1.00005).epsilon(1e-12));
  CHECK(fit.residual_ns <= 2);
  CHECK(std::abs(fit(kBase + 1'800'000'000'000) - (kBase + 7 + 1'800'000'000'000 + 90'000'000)) <= 2);
}

TEST_CASE("comparisons too close for a slope give none, and say how far they are from each other") {
  const std::vector<ClockPair> pairs{{0, 1000}, {10'000, 11'400}, {20'000, 21'000}};
  const ClockFit fit = fit_clock(pairs);
  CHECK(fit.rate == 1.0);
  CHECK(fit(0) == 1000);          // the median of the distances 1000, 1400, 1000
  CHECK(fit.residual_ns == 400);  // the second pair
}

TEST_CASE("a slope that no clock has is taken for a jump, not for a rate") {
  const std::vector<ClockPair> pairs{{0, 0}, {1'000'000'000, 1'500'000'000}};
  CHECK(fit_clock(pairs).rate == 1.0);
}

}  // namespace plimsoll
