#include <catch2/catch.hpp>

#include <limits>

#include "core/trace/compare_losses.h"
#include "core/trace/compare_traces.h"
#include "tests/core/trace/tiny_plan.h"

using namespace plimsoll;

namespace {

/// A plan whose step is so many launches one after another.
Plan chain(int launches) {
  TinyPlan tiny;
  const QueueId queue = tiny.queue(QueueKind::kCompute);
  for (int i = 0; i < launches; ++i) tiny.launch(queue, 1);
  return tiny.build();
}

/// Steps of those durations, each launch an even share; of a device the first `traced` keep events.
Trace ran(const std::string& digest, int launches, const std::vector<std::int64_t>& durations, std::size_t traced) {
  Trace trace{.plan_digest = digest, .source = "cuda; a driver"};
  Nanoseconds reached;
  for (std::uint32_t step = 0; step < durations.size(); ++step) {
    const Nanoseconds begin = reached;
    for (int i = 0; i < launches; ++i) {
      const Nanoseconds end = reached + Nanoseconds(durations[step] / launches);
      if (step < traced) trace.events.push_back({.step = step, .instruction = static_cast<std::uint32_t>(i), .start = reached, .end = end});
      reached = end;
    }
    trace.steps.push_back({.step = step, .start = begin, .end = reached});
  }
  return trace;
}

Result<Comparison> compare(const Plan& first, const Trace& of_first, const Plan& second, const Trace& of_second) {
  return compare_runs({first, of_first, "one"}, {second, of_second, "another"});
}

std::vector<StepSummary> losses(std::uint32_t first, const std::vector<double>& values) {
  std::vector<StepSummary> steps;
  for (const double loss : values) steps.push_back({.step = first++, .start = {}, .end = {}, .loss = loss});
  return steps;
}

}  // namespace

TEST_CASE("runs of two plans are compared by their median steps, whose parts add up") {
  const Comparison compared = compare(chain(2), ran("a", 2, {90, 40, 44}, 3), chain(3), ran("b", 3, {60, 66, 93}, 3)).value();
  CHECK(compared.predicted_step == Nanoseconds(44));  // of 40, 44, 90
  CHECK(compared.measured_step == Nanoseconds(66));   // of 60, 66, 93
  CHECK(compared.error() == Approx(0.5));             // (66 - 44) / 44
  CHECK(compared.matched_fraction == 0);
  Nanoseconds sum;
  for (const ComparedPart& part : compared.parts) sum += part.measured - part.predicted;
  CHECK(sum == Nanoseconds(22));
}

TEST_CASE("runs of one plan match instruction by instruction") {
  CHECK(compare(chain(2), ran("a", 2, {90, 40}, 2), chain(2), ran("a", 2, {60, 66}, 2))->matched_fraction == 1.0);
}

TEST_CASE("steps without a trace are held against the other run's, where both have enough") {
  const auto held = [](const std::vector<std::int64_t>& first, const std::vector<std::int64_t>& second) {
    return compare(chain(1), ran("a", 1, first, 1), chain(1), ran("b", 1, second, 1)).value();
  };
  const Comparison both = held({90, 80, 30, 31, 32}, {99, 95, 41, 40, 42});  // the second waits for the first
  CHECK(both.untraced_predicted == Nanoseconds(31));
  CHECK(both.untraced_step == Nanoseconds(41));
  CHECK(both.untraced_error().value() == Approx(10.0 / 31));
  CHECK_FALSE(held({90, 80, 30, 31}, {99, 95, 41, 40, 42}).untraced_error());
  CHECK_FALSE(held({90, 80, 30, 31, 32}, {99, 95, 41, 40}).untraced_error());
}

TEST_CASE("memories are matched by their names, in the first plan's order, then what only the second has") {
  Plan first = chain(1), second = chain(1);
  first.platform.spaces = {{.name = "gpu0"}, {.name = "host"}};
  second.platform.spaces = {{.name = "host"}, {.name = "gpu0"}, {.name = "ssd"}};
  Trace of_first = ran("a", 1, {5}, 1), of_second = ran("b", 1, {5}, 1);
  of_first.peaks = {{SpaceId(0), Bytes(1), {}}, {SpaceId(1), Bytes(2), {{TensorKind::kParameter, Bytes(2)}}}};
  of_second.peaks = {{SpaceId(0), Bytes(20), {{TensorKind::kGradient, Bytes(8)}, {TensorKind::kParameter, Bytes(12)}}},
                     {SpaceId(1), Bytes(10), {}},
                     {SpaceId(2), Bytes(30), {}}};
  const auto memory = compare(first, of_first, second, of_second)->memory;
  REQUIRE(memory.size() == 3);
  CHECK((memory[0].space == "gpu0" && memory[0].predicted == Bytes(1) && memory[0].measured == Bytes(10)));
  CHECK((memory[1].space == "host" && memory[1].predicted == Bytes(2) && memory[1].measured == Bytes(20)));
  CHECK((memory[2].space == "ssd" && memory[2].predicted == Bytes(0) && memory[2].measured == Bytes(30)));
  REQUIRE(memory[1].by_category.size() == 2);
  CHECK((memory[1].by_category[0].kind == TensorKind::kParameter && memory[1].by_category[0].measured == Bytes(12)));
}

TEST_CASE("memory that one run did not tell, or did not divide by category, is nobody's 0 bytes") {
  const Plan plan = chain(1);
  Trace divided = ran("a", 1, {5}, 1), whole = ran("b", 1, {5}, 1), killed = ran("c", 1, {5}, 1);
  divided.peaks = {{SpaceId(0), Bytes(3), {{TensorKind::kParameter, Bytes(3)}}}};
  whole.peaks = {{SpaceId(0), Bytes(4), {}}};
  CHECK(compare(plan, divided, plan, killed)->memory.empty());
  CHECK(compare(plan, killed, plan, divided)->memory.empty());
  const auto memory = compare(plan, divided, plan, whole)->memory;
  REQUIRE(memory.size() == 1);
  CHECK((memory[0].predicted == Bytes(3) && memory[0].measured == Bytes(4) && memory[0].by_category.empty()));
}

TEST_CASE("a run of which no step was traced whole is refused by its name") {
  const Trace whole = ran("a", 1, {5}, 1);
  CHECK(compare(chain(1), ran("b", 1, {5}, 0), chain(1), whole).error().where == "one");
  CHECK(compare(chain(1), whole, chain(1), ran("b", 1, {5}, 0)).error().where == "another");
}

TEST_CASE("losses are compared bit by bit in the steps that both trainings have") {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const ComparedLosses same = compare_losses(losses(0, {3, 2, kNan, 1}), losses(1, {2, kNan, 1, 0.5}));
  CHECK(same.steps == 3);
  CHECK(same.unknown == 1);
  CHECK_FALSE(same.first_apart);
  const ComparedLosses apart = compare_losses(losses(0, {3, 2, 1.5, 1}), losses(0, {3, 2, std::nextafter(1.5, 2), 1.25, 7}));
  CHECK(apart.steps == 4);
  REQUIRE(apart.first_apart);
  CHECK(apart.first_apart->step == 2);
  CHECK(apart.first_apart->first == 1.5);
  CHECK(apart.largest.value() == 0.25);
  const ComparedLosses diverged = compare_losses(losses(0, {3, kNan}), losses(0, {3, 2}));
  CHECK(diverged.first_apart->step == 1);
  CHECK_FALSE(diverged.largest);
  CHECK(compare_losses(losses(0, {3}), losses(5, {3})).steps == 0);
}
