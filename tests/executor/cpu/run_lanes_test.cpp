#include "executor/cpu/run_lanes.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>

#include "tests/support/flat_body_builder.h"

namespace plimsoll {
namespace {

/// Queue 0 loads ahead by one step, queue 1 computes, queue 2 (two lanes) reports.
FlatBody pipeline() {
  return FlatBodyBuilder()
      .add(QueueId(0), {{.target = 1, .distance = 2}})
      .add(QueueId(1), {{.target = 0, .distance = 0}})
      .add(QueueId(2), {{.target = 1, .distance = 0}})
      .build();
}

Outcome nothing(std::uint32_t, std::int64_t) { return {}; }

LaneRun run_of(const Platform& platform, const FlatBody& body, std::uint32_t steps) {
  return {.platform = platform,
          .body = body,
          .first_step = 0,
          .steps = steps,
          .first_traced_step = 0,
          .jitter_seed = 0,
          .stop = nullptr,
          .execute = nothing,
          .on_step = {}};
}

}  // namespace

TEST_CASE("every instruction of every traced step yields one event, in order of step and id") {
  const Platform platform = queues_of_width({1, 1, 2});
  const FlatBody body = pipeline();
  LaneRun run = run_of(platform, body, 6);
  run.first_step = 10;
  run.first_traced_step = 13;
  run.jitter_seed = 7;
  const LaneRecord record = run_lanes(run);
  REQUIRE(record.steps.size() == 6);
  REQUIRE(record.events.size() == 9);
  for (std::uint32_t i = 0; i < 9; ++i) {
    CHECK(record.events[i].step == 13 + i / 3);
    CHECK(record.events[i].instruction == i % 3);
    CHECK(record.events[i].start <= record.events[i].end);
  }
}

TEST_CASE("measured events respect every dependency, and steps' times tile the run") {
  const Platform platform = queues_of_width({1, 1, 2});
  const FlatBody body = pipeline();
  LaneRun run = run_of(platform, body, 20);
  run.jitter_seed = 3;
  const LaneRecord record = run_lanes(run);
  REQUIRE(record.events.size() == 60);
  for (const TraceEvent& event : record.events) {
    for (const Dependency& dependency : body.dependencies(body.list.instructions[event.instruction])) {
      if (dependency.distance > event.step) continue;
      const TraceEvent& before = record.events[(event.step - dependency.distance) * 3 + dependency.target];
      CHECK(before.end <= event.start);
    }
  }
  CHECK(record.steps.front().start == Nanoseconds(0));
  for (std::size_t s = 1; s < record.steps.size(); ++s) CHECK(record.steps[s].start == record.steps[s - 1].end);
  const auto ends_earlier = [](const TraceEvent& a, const TraceEvent& b) { return a.end < b.end; };
  // Not the last step's own: on the queue of two lanes the step before may report after it.
  CHECK(record.steps.back().end == std::max_element(record.events.begin(), record.events.end(), ends_earlier)->end);
}

TEST_CASE("steps are told in order, from the calling thread, with what they reported") {
  const Platform platform = queues_of_width({1, 1, 2});
  const FlatBody body = pipeline();
  LaneRun run = run_of(platform, body, 50);
  run.execute = [](std::uint32_t id, std::int64_t step) {
    if (id != 2) return Outcome{};
    return Outcome{.skipped = false,
                   .report = LossReport{.loss = 1.0 + static_cast<double>(step), .gradient_norm = 0.5}};
  };
  std::vector<double> losses;
  const auto caller = std::this_thread::get_id();
  run.on_step = [&](const StepSummary& summary) {
    CHECK(std::this_thread::get_id() == caller);
    CHECK(summary.step == losses.size());
    losses.push_back(summary.loss);
  };
  const LaneRecord record = run_lanes(run);
  REQUIRE(losses.size() == 50);
  for (std::size_t s = 0; s < losses.size(); ++s) {
    CHECK(losses[s] == 1.0 + static_cast<double>(s));
    CHECK(record.steps[s].loss == losses[s]);
  }
}

TEST_CASE("a skipped instruction yields an event that says so") {
  const Platform platform = queues_of_width({1});
  const FlatBody body = FlatBodyBuilder().add(QueueId(0)).build();
  LaneRun run = run_of(platform, body, 2);
  run.execute = [](std::uint32_t, std::int64_t step) { return Outcome{.skipped = step == 1, .report = {}}; };
  const LaneRecord record = run_lanes(run);
  REQUIRE(record.events.size() == 2);
  CHECK(record.events[0].status == EventStatus::kMeasured);
  CHECK(record.events[1].status == EventStatus::kSkipped);
}

TEST_CASE("an exception in a lane reaches the caller and leaves no thread behind") {
  const Platform platform = queues_of_width({1, 1, 2});
  const FlatBody body = pipeline();
  for (std::uint32_t failing = 0; failing < 3; ++failing) {
    LaneRun run = run_of(platform, body, 100);
    run.execute = [failing](std::uint32_t id, std::int64_t step) -> Outcome {
      if (id == failing && step == 4) throw std::runtime_error("lane failed");
      return {};
    };
    CHECK_THROWS_WITH(run_lanes(run), "lane failed");
  }
}

TEST_CASE("an exception of the step callback ends the run") {
  const Platform platform = queues_of_width({1, 1, 2});
  const FlatBody body = pipeline();
  LaneRun run = run_of(platform, body, 1000000);
  run.on_step = [](const StepSummary& summary) {
    if (summary.step == 3) throw std::runtime_error("callback failed");
  };
  CHECK_THROWS_WITH(run_lanes(run), "callback failed");
}

TEST_CASE("a stop ends the run after the steps in flight, each of them whole") {
  const Platform platform = queues_of_width({1, 1, 2});
  const FlatBody body = pipeline();
  std::atomic<bool> stop = false;
  LaneRun run = run_of(platform, body, 1000000);
  run.stop = &stop;
  std::atomic<std::int64_t> executed = 0;
  run.execute = [&](std::uint32_t, std::int64_t step) {
    ++executed;
    if (step == 5) stop = true;
    return Outcome{};
  };
  const LaneRecord record = run_lanes(run);
  CHECK(record.steps.size() >= 6);
  CHECK(record.steps.size() <= 9);  // loading runs two steps ahead of computing at most, and a report may lag
  CHECK(executed == static_cast<std::int64_t>(3 * record.steps.size()));
  CHECK(record.events.size() == 3 * record.steps.size());
}

TEST_CASE("a stop ends a segment that would go on growing") {
  const Platform platform = queues_of_width({1, 1, 2});
  const FlatBody body = pipeline();
  std::atomic<bool> stop = false;
  LaneRun run = run_of(platform, body, 4);
  run.stop = &stop;
  run.growth = {.notice = 4, .more = [] { return 4; }};
  run.execute = [&](std::uint32_t, std::int64_t step) {
    if (step == 20) stop = true;
    return Outcome{};
  };
  const LaneRecord record = run_lanes(run);
  CHECK(record.steps.size() >= 21);
  CHECK(record.steps.size() <= 24);  // as far ahead as above
  CHECK(record.events.size() == 3 * record.steps.size());
}

TEST_CASE("a segment of no steps does nothing") {
  const Platform platform = queues_of_width({1, 1, 2});
  const FlatBody body = pipeline();
  const LaneRecord record = run_lanes(run_of(platform, body, 0));
  CHECK(record.events.empty());
  CHECK(record.steps.empty());
}

}  // namespace plimsoll
