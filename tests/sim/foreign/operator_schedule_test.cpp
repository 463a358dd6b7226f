#include <catch2/catch.hpp>

#include "sim/replay/operator_schedule.h"

namespace plimsoll::test {
namespace {

/// A (host, 10 µs), then a product of 20 and a collective of 5 after it, a product of 30 after both; one of 7 after A alone.
OperatorTrace small_trace() {
  OperatorTrace trace{.source = "hand", .names = {}, .nodes = {}, .storages = {}, .losses = {}};
  const auto add = [&](const char* name, OperatorSort sort, bool host, std::int64_t micros, std::vector<std::uint32_t> after) {
    trace.nodes.push_back({.id = trace.nodes.size(), .name = trace.names.add(name), .sort = sort, .on_host = host,
                           .duration = Nanoseconds(micros * 1000), .after = std::move(after)});
  };
  add("A", OperatorSort::kCompute, true, 10, {});
  add("B", OperatorSort::kCompute, false, 20, {0});
  add("C", OperatorSort::kCollective, false, 5, {0});
  add("D", OperatorSort::kCompute, false, 30, {1, 2});
  add("E", OperatorSort::kCompute, false, 7, {0});
  return trace;
}

}  // namespace

TEST_CASE("nodes of an execution trace run when what they wait for has ended and their lane is free") {
  // A 0-10; B 10-30 and C beside it 10-15; of D and E, E could start first: 30-37; D 37-67. The longest chain is A B D: 60.
  const auto schedule = schedule_operators(small_trace());
  REQUIRE(schedule);
  CHECK(schedule->start[2] == Nanoseconds(10'000));
  CHECK(schedule->start[4] == Nanoseconds(30'000));
  CHECK(schedule->start[3] == Nanoseconds(37'000));
  CHECK(schedule->makespan == Nanoseconds(67'000));
  CHECK(schedule->critical_path == Nanoseconds(60'000));
  CHECK(schedule->on_path == std::vector<std::uint32_t>{0, 1, 3});
}

TEST_CASE("a what-if scales the nodes of its part alone") {
  // B 10-20, E 20-27, D 27-57.
  const auto halved = schedule_operators(small_trace(), {{.part = ReplayPart::kKernel, .pattern = "B", .factor = 0.5}});
  REQUIRE(halved);
  CHECK(halved->makespan == Nanoseconds(57'000));
  const auto copies = schedule_operators(small_trace(), {{.part = ReplayPart::kCopy, .pattern = "", .factor = 0.5}});
  REQUIRE(copies);
  CHECK(copies->end[2] == Nanoseconds(12'500));
  CHECK(copies->makespan == Nanoseconds(67'000));
}

TEST_CASE("nodes that wait for each other are refused, and so is a trace without durations") {
  OperatorTrace circle = small_trace();
  circle.nodes[1].after = {3};
  CHECK_FALSE(schedule_operators(circle));
  OperatorTrace untimed = small_trace();
  for (TracedOperator& node : untimed.nodes) node.duration = Nanoseconds(-1);
  CHECK_FALSE(schedule_operators(untimed));
}

}  // namespace plimsoll::test
