#include "profiler/microbench/memory_rates.h"

#include <catch2/catch.hpp>

using namespace plimsoll;

namespace {

const MemoryTrial kTiny{.bytes_per_thread = 64 * kKiB,
                        .threads = 2,
                        .timing = {.seconds = 0, .runs = 3, .most_seconds = 0.05, .dropped = 1}};

void check_ordered(const Spread& spread) {
  CHECK(spread.low > 0);
  CHECK(spread.low <= spread.median);
  CHECK(spread.median <= spread.high);
  CHECK(spread.samples >= 1);
}

}  // namespace

TEST_CASE("memory rates are positive and their spreads ordered") {
  check_ordered(measure_read_rate(kTiny));
  check_ordered(measure_copy_rate(kTiny));
  check_ordered(measure_copy_time(Bytes(4096), 64 * kKiB, kTiny.timing));
  check_ordered(measure_copy_time(64 * kKiB, Bytes(4096), kTiny.timing));
}

TEST_CASE("beside copies nothing runs faster than alone") {
  int runs = 0;
  const PairSlowdown pair = measure_beside_copies([&] { ++runs; }, kTiny);
  CHECK(pair.work >= 1);
  CHECK(pair.copy >= 1);
  CHECK(runs > 0);
}
