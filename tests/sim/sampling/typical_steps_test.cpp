#include "sim/sampling/typical_steps.h"

#include <catch2/catch.hpp>

using namespace plimsoll;

namespace {

std::vector<StepSummary> steps(const std::vector<std::int64_t>& durations) {
  std::vector<StepSummary> steps;
  Nanoseconds now;
  for (const auto ns : durations) {
    const auto number = static_cast<std::uint32_t>(7 + steps.size());
    steps.push_back({.step = number, .start = now, .end = now + Nanoseconds(ns)});
    now = steps.back().end;
  }
  return steps;
}

}  // namespace

TEST_CASE("typical steps are the middle half, without the first") {
  // Of the steps 8 to 15, which take 10, 80, 30, 50, 40, 60, 70, 20, a quarter is set aside at either end.
  CHECK(typical_steps(steps({55, 10, 80, 30, 50, 40, 60, 70, 20})) == std::set<std::uint32_t>{10, 11, 12, 13});
  // Of three, the one in the middle.
  CHECK(typical_steps(steps({5, 30, 10, 20})) == std::set<std::uint32_t>{10});
}

TEST_CASE("of few steps all are typical, the first only where there is but one other") {
  CHECK(typical_steps({}).empty());
  CHECK(typical_steps(steps({9})) == std::set<std::uint32_t>{7});
  CHECK(typical_steps(steps({9, 5})) == std::set<std::uint32_t>{7, 8});
  CHECK(typical_steps(steps({9, 5, 6})) == std::set<std::uint32_t>{8, 9});
}

TEST_CASE("only steps with events can be typical of what instructions take") {
  // Of steps 7 to 10 the last two, which are the fastest, were not traced.
  Trace trace;
  trace.steps = steps({33, 32, 30, 31});
  for (const std::uint32_t step : {7, 8, 8}) trace.events.push_back({.step = step});
  CHECK(typical_steps(traced_steps(trace)) == std::set<std::uint32_t>{7, 8});
  CHECK(traced_steps({}).empty());
}
