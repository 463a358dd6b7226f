#include "sim/cost/sample.h"

#include <catch2/catch.hpp>

using namespace plimsoll;

namespace {

std::vector<Sample> of_one_key(const std::vector<std::int64_t>& ns, std::size_t contended_from = 1000) {
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < ns.size(); ++i) {
    samples.push_back({.key = {.place = "p"},
                       .duration = Nanoseconds(ns[i]),
                       .plan_digest = "plan",
                       .contended = i >= contended_from});
  }
  return samples;
}

KeyStatistics only(const SampleStatistics& statistics) {
  REQUIRE(statistics.keys.size() == 1);
  return statistics.keys.begin()->second;
}

}  // namespace

TEST_CASE("the first of several samples is warm-up and left out") {
  const auto statistics = summarize_samples(of_one_key({900, 100, 110, 120}));
  CHECK(only(statistics).expected_ns == 110);  // (100 + 110 + 120) / 3
  CHECK(only(statistics).samples == 3);
  CHECK(statistics.count.warm_up == 1);
  CHECK(statistics.count.samples == 4);
}

TEST_CASE("a key's only sample is kept") {
  const auto statistics = summarize_samples(of_one_key({900}));
  CHECK(only(statistics).expected_ns == 900);
  CHECK(statistics.count.warm_up == 0);
}

TEST_CASE("contended samples count only where there are too few others") {
  // Three uncontended ones after the warm-up: 100, 110, 120.
  const auto enough = summarize_samples(of_one_key({900, 100, 110, 120, 500, 500, 500}, 4));
  CHECK(only(enough).expected_ns == 110);
  CHECK_FALSE(only(enough).contended);
  CHECK(enough.count.contended == 3);
  // Two: 100, 110 and the three of 500: (210 + 1500) / 5 = 342.
  const auto few = summarize_samples(of_one_key({900, 100, 110, 500, 500, 500}, 3));
  CHECK(only(few).expected_ns == 342);
  CHECK(only(few).contended);
}

TEST_CASE("what an execution adds to a step is the mean, not the median") {
  // (100 + 100 + 100 + 180) / 4 = 120: a step of 100 such executions takes 12000, not 10000.
  CHECK(only(summarize_samples(of_one_key({900, 100, 100, 100, 180}))).expected_ns == 120);
}

TEST_CASE("outliers are counted, and count as three times the median") {
  const auto statistics = summarize_samples(of_one_key({1, 100, 101, 102, 103, 9000}));
  CHECK(only(statistics).expected_ns == Approx(142.4));  // (100 + 101 + 102 + 103 + 3 * 102) / 5
  CHECK(statistics.count.outliers == 1);
}

TEST_CASE("the spread lies between the fifth and the ninety-fifth percentile") {
  std::vector<std::int64_t> ns{0};
  for (int i = 0; i <= 100; ++i) ns.push_back(1000 + i);
  ns[0] = 5000;
  // 1000, 1001 … 1100: the 5th percentile is 1005, the 95th 1095.
  const auto statistics = summarize_samples(of_one_key(ns));
  CHECK(only(statistics).low_ns == Approx(1005));
  CHECK(only(statistics).high_ns == Approx(1095));
}

TEST_CASE("durations that are not positive are ignored, plans are named once") {
  const auto statistics = summarize_samples(of_one_key({0, -5}));
  CHECK(statistics.keys.empty());
  CHECK(statistics.count.samples == 0);
  CHECK(summarize_samples(of_one_key({1, 2, 3})).plans == std::vector<std::string>{"plan"});
}
