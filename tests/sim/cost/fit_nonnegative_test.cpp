#include "sim/cost/fit_nonnegative.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <vector>

using namespace plimsoll;

TEST_CASE("fit_nonnegative finds the rates that made the times") {
  std::vector<WorkTime> observations;
  for (const double flops : {1e6, 5e6, 2e7, 8e7}) {
    for (const double bytes : {1e5, 4e5, 3e6}) {
      observations.push_back({.flops = flops, .bytes = bytes, .time = 5000 + 2e-3 * flops + 3e-2 * bytes});
    }
  }
  const auto rates = fit_nonnegative(observations, true);
  CHECK(rates.constant == Approx(5000).epsilon(1e-6));
  CHECK(rates.per_flop == Approx(2e-3).epsilon(1e-6));
  CHECK(rates.per_byte == Approx(3e-2).epsilon(1e-6));
}

TEST_CASE("one observation makes one rate: of arithmetic or of traffic, as the kind asks") {
  const std::vector<WorkTime> one{{.flops = 100, .bytes = 50, .time = 200}};
  CHECK(fit_nonnegative(one, true).per_flop == Approx(2));
  CHECK(fit_nonnegative(one, true).per_byte == 0);
  CHECK(fit_nonnegative(one, false).per_byte == Approx(4));
  CHECK(fit_nonnegative(one, false).constant == 0);
}

TEST_CASE("two transfers make a latency and a rate") {
  // 10 + 0.5 · bytes.
  const std::vector<WorkTime> two{{.bytes = 100, .time = 60}, {.bytes = 1000, .time = 510}};
  const auto rates = fit_nonnegative(two, false);
  CHECK(rates.constant == Approx(10));
  CHECK(rates.per_byte == Approx(0.5));
}

TEST_CASE("times that fall with size make no negative rate") {
  const std::vector<WorkTime> falling{{.flops = 1, .bytes = 1, .time = 100}, {.flops = 100, .bytes = 100, .time = 10}};
  const auto rates = fit_nonnegative(falling, true);
  CHECK((rates.constant >= 0 && rates.per_flop >= 0 && rates.per_byte >= 0));
  CHECK(rates.time(50, 50) > 0);
}

TEST_CASE("work of no size is timed by a constant, and nothing by nothing") {
  const std::vector<WorkTime> constant{{.time = 30}, {.time = 30}};
  CHECK(fit_nonnegative(constant, false).constant == Approx(30));
  CHECK(fit_nonnegative({}, false).time(5, 5) == 0);
}

TEST_CASE("no observations make negative rates or a worse fit than the best single rate") {
  std::mt19937 random(9);
  std::uniform_real_distribution<double> draw(0.1, 10.0);
  for (int round = 0; round < 500; ++round) {
    std::vector<WorkTime> observations(1 + random() % 6);
    for (auto& o : observations) o = {.flops = draw(random), .bytes = draw(random), .time = draw(random)};
    const auto squares = [&](const WorkRates& r) {
      double sum = 0;
      for (const auto& o : observations) sum += std::pow(r.time(o.flops, o.bytes) / o.time - 1, 2);
      return sum;
    };
    const auto rates = fit_nonnegative(observations, true);
    REQUIRE((rates.constant >= 0 && rates.per_flop >= 0 && rates.per_byte >= 0));
    for (const double rate : {0.1, 0.5, 1.0, 2.0}) REQUIRE(squares(rates) <= squares({.per_flop = rate}) + 1e-9);
  }
}
