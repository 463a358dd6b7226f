#include "core/trace/nested_ranges.h"

#include <catch2/catch.hpp>

namespace plimsoll::test {
namespace {

MarkedRange range(Recording& recording, const char* name, std::int64_t start, std::int64_t end, std::uint32_t thread = 0) {
  return {.start = Nanoseconds(start),
          .end = Nanoseconds(end),
          .name = recording.names.add(name),
          .thread = thread,
          .kind = RangeKind::kOperator};
}

}  // namespace

TEST_CASE("ranges that start together nest by their length, whatever their order in the recording") {
  Recording recording;
  recording.ranges = {range(recording, "inner", 5, 7), range(recording, "outer", 5, 9), range(recording, "later", 6, 7)};
  const auto nested = nested_ranges(recording);
  REQUIRE(nested.size() == 3);
  CHECK(recording.names.at(nested[0]->name) == "outer");
  CHECK(recording.names.at(nested[1]->name) == "inner");
  CHECK(recording.names.at(nested[2]->name) == "later");
}

TEST_CASE("an operator's own time is without the operators within it on its thread") {
  // linear 0-100 holds t 0-10 and addmm 10-90, which holds copy 20-50; on another thread relu 30-60.
  // Own: linear 100 − 10 − 80 = 10, t 10, addmm 80 − 30 = 50, copy 30, relu 30. All together: 130 = 100 + 30.
  Recording recording;
  recording.ranges = {range(recording, "t", 0, 10), range(recording, "linear", 0, 100), range(recording, "addmm", 10, 90),
                      range(recording, "copy", 20, 50), range(recording, "relu", 30, 60, 1)};
  const auto totals = operator_totals(recording);
  REQUIRE(totals.size() == 5);
  CHECK(totals[0].name == "addmm");
  CHECK(totals[0].own == Nanoseconds(50));
  Nanoseconds all;
  for (const OperatorTotal& total : totals) {
    all += total.own;
    if (total.name == "linear") CHECK(total.own == Nanoseconds(10));
    if (total.name == "relu") CHECK(total.own == Nanoseconds(30));
  }
  CHECK(all == Nanoseconds(130));
}

}  // namespace plimsoll::test
