#include "profiler/microbench/timing.h"

#include <catch2/catch.hpp>

using namespace plimsoll;

TEST_CASE("a spread is the median with the 5th and the 95th of a hundred") {
  std::vector<double> seconds;
  for (int i = 100; i >= 0; --i) seconds.push_back(i);  // 0 to 100 in falling order
  const Spread spread = spread_of(seconds);
  CHECK(spread.median == 50);
  CHECK(spread.low == 5);
  CHECK(spread.high == 95);
  CHECK(spread.samples == 101);
  const Spread one = spread_of({3.0});
  CHECK((one.low == 3.0 && one.median == 3.0 && one.high == 3.0 && one.samples == 1));
}

TEST_CASE("time_runs drops the first runs and keeps at least as many as asked for") {
  int calls = 0;
  const auto durations = time_runs([&] { ++calls; }, {.seconds = 0, .runs = 7, .most_seconds = 60, .dropped = 3});
  CHECK(durations.size() == 7);
  CHECK(calls == 10);
  for (const double seconds : durations) CHECK(seconds >= 0);
}

TEST_CASE("time_runs stops after the most seconds and after the most runs") {
  CHECK(time_runs([] {}, {.seconds = 60, .runs = 7, .most_seconds = 0}).size() == 1);
  CHECK(time_runs([] {}, {.seconds = 60, .runs = 7, .most_seconds = 60, .most_runs = 12}).size() == 12);
}
