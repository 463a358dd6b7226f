#include "profiler/probe/others_cpu.h"

#include <catch2/catch.hpp>

using namespace plimsoll;

TEST_CASE("busy ticks are all but idle and waiting, stolen ones included, guests' counted once") {
  //                                     user nice system idle wait irq soft steal guest nice
  const auto ticks = parse_cpu_ticks("cpu  100 10 50 800 30 4 5 1 60 0\ncpu0 1 2 3\n");
  REQUIRE(ticks);
  CHECK(ticks->total == 1000);
  CHECK(ticks->busy == 170);
}

TEST_CASE("text that is no statistics of the CPU says nothing") {
  for (const char* text : {"", "cpu0 1 2 3 4 5 6 7 8", "cpu 1 2 3", "cpu 1 2 3 four 5 6 7 8", "cpu 1 2 3 -4 5 6 7 8"}) {
    CHECK_FALSE(parse_cpu_ticks(text));
  }
}

TEST_CASE("others' share is what was busy without us, of the time of all cores") {
  // 1000 ticks of all cores: 700 busy, 500 of them ours, so others used 200.
  CHECK(others_share({100, 5000}, {800, 6000}, 500) == Approx(0.2));
  CHECK(others_share({100, 5000}, {800, 6000}, 900) == 0);  // clocks that disagree a little
  CHECK(others_share({100, 5000}, {100, 5000}, 0) == 0);
}
