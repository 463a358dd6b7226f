#include "session/measure_link.h"

#include <catch2/catch.hpp>

using namespace plimsoll;

TEST_CASE("what a message takes beyond an empty one is its bytes' time") {
  const Link link = link_between(1e-3, 3e-3, Bytes(4'000'000));  // 4 MB in 2 ms
  CHECK(link.latency == Nanoseconds(1'000'000));
  CHECK(link.bytes_per_second == Approx(2e9));
}

TEST_CASE("where an empty message took as long as a full one, half of the time is the bytes'") {
  for (const double empty : {3e-3, 5e-3}) {
    const Link link = link_between(empty, 4e-3, Bytes(4'000'000));  // 4 MB in 2 of 4 ms
    CHECK(link.latency == Nanoseconds(2'000'000));
    CHECK(link.bytes_per_second == Approx(2e9));
  }
}
