#include "formats/runs/chrome_trace.h"

#include <catch2/catch.hpp>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "formats/runs/queue_lanes.h"
#include "tests/support/random_plan.h"

namespace plimsoll::test {
namespace {

using nlohmann::json;

/// Events of all instructions, one after another, each 1001 ns long.
NamedTrace serial_trace(const Plan& plan, TraceKind kind) {
  NamedTrace named{.name = "run", .body = "step", .trace = {.kind = kind, .source = "a \"source\""}};
  const auto count = static_cast<std::uint32_t>(instruction_count(plan, plan.bodies[0]));
  for (std::uint32_t i = 0; i < count; ++i) {
    named.trace.events.push_back({0, i, Nanoseconds(2000 * i), Nanoseconds(2000 * i + 1001), EventStatus::kMeasured});
  }
  named.trace.steps = {
      {.step = 0, .start = Nanoseconds(0), .end = Nanoseconds(2000 * std::int64_t{count}), .loss = 0.1}};
  return named;
}

json written(const Plan& plan, const std::vector<const NamedTrace*>& traces,
             std::span<const MemorySample> memory = {}) {
  std::ostringstream out;
  write_chrome_trace(out, plan, traces, memory);
  return json::parse(out.str()).at("traceEvents");
}

}  // namespace

TEST_CASE("a Chrome trace has one slice for each event, at its nanosecond, on its queue's thread") {
  const Plan plan = random_plan({.seed = 4, .instructions = 30});
  const NamedTrace trace = serial_trace(plan, TraceKind::kMeasured);
  const FlatBody body = expand(plan, plan.bodies[0]);
  std::map<int, std::string> threads;
  std::size_t slices = 0;
  for (const json& event : written(plan, {&trace})) {
    if (event.at("name") == "thread_name") threads[event.at("tid")] = event.at("args").at("name");
    if (event.at("ph") != "X" || event.at("tid") == 0) continue;
    const std::uint32_t id = event.at("args").at("id");
    CHECK(event.at("ts").get<double>() == Approx(2.0 * id));
    CHECK(event.at("dur").get<double>() == Approx(1.001));
    CHECK(threads.at(event.at("tid")) == plan.platform.at(body.list.instructions[id].queue).name);
    ++slices;
  }
  CHECK(slices == body.size());
}

TEST_CASE("two traces are two processes, named predicted and measured") {
  const Plan plan = random_plan({.seed = 4, .instructions = 30});
  const NamedTrace predicted = serial_trace(plan, TraceKind::kPredicted);
  const NamedTrace measured = serial_trace(plan, TraceKind::kMeasured);
  const json events = written(plan, {&predicted, &measured});
  std::map<int, std::string> names;
  for (const json& event : events) {
    if (event.at("name") == "process_name") names[event.at("pid")] = event.at("args").at("name");
  }
  CHECK(names == std::map<int, std::string>{{1, "predicted (run): a \"source\""},
                                             {2, "measured (run): a \"source\""},
                                             {1'000'000, "order of issue (takes no time)"}});
}

TEST_CASE("slices of one thread never overlap, also on queues that run several instructions at once") {
  const Plan plan = random_plan({.seed = 6, .instructions = 200});
  NamedTrace trace = serial_trace(plan, TraceKind::kMeasured);
  const FlatBody body = expand(plan, plan.bodies[0]);
  for (TraceEvent& event : trace.trace.events) {
    if (plan.platform.at(body.list.instructions[event.instruction].queue).width > 1)
      event.end = event.start + Nanoseconds(90000);
  }
  std::map<int, double> busy_until;
  bool second_lane = false;
  for (const json& event : written(plan, {&trace})) {
    if (event.at("name") == "thread_name") second_lane |= event.at("args").at("name") == "ssd.read #2";
    if (event.at("ph") != "X" || event.at("tid") == 0) continue;
    double& end = busy_until[event.at("tid")];
    CHECK(event.at("ts").get<double>() >= end - 1e-6);
    end = event.at("ts").get<double>() + event.at("dur").get<double>();
  }
  CHECK(second_lane);
}

TEST_CASE("memory samples become stacked counters") {
  const std::vector<MemorySample> memory{{Nanoseconds(1000), "gpu0", "parameters", Bytes(10)},
                                         {Nanoseconds(2000), "gpu0", "activations", Bytes(5)}};
  const json events = written(random_plan({.seed = 1}), {}, memory);
  REQUIRE(events.size() == 3);
  CHECK(events[2].at("ph") == "C");
  CHECK(events[2].at("ts") == 2.0);
  CHECK(events[2].at("args") == json{{"parameters", 10}, {"activations", 5}});
}

}  // namespace plimsoll::test
