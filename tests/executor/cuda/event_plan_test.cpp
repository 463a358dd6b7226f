#include <catch2/catch.hpp>

#include "executor/cuda/event_plan.h"
#include "executor/cuda/step_gate.h"
#include "tests/support/flat_body_builder.h"
#include "tests/support/tiny_platform.h"

namespace plimsoll::test {
namespace {

const Platform kPlatform = tiny_platform();

struct Item {
  const char* queue;
  std::vector<Dependency> dependencies;
};

FlatBody body_of(const std::vector<Item>& items) {
  FlatBody body;
  for (const Item& item : items) {
    Instruction instruction{.queue = queue_named(kPlatform, item.queue)};
    instruction.first_dependency = static_cast<std::uint32_t>(body.list.dependencies.size());
    instruction.dependency_count = static_cast<std::uint32_t>(item.dependencies.size());
    body.list.dependencies.insert(body.list.dependencies.end(), item.dependencies.begin(), item.dependencies.end());
    body.list.instructions.push_back(instruction);
    body.micro_batches.push_back(0);
  }
  return body;
}

using Waits = std::vector<EventPlan::Wait>;

}  // namespace

TEST_CASE("a stream's own order needs no event, another stream's does") {
  const EventPlan plan = plan_events(kPlatform, body_of({{"h2d", {}}, {"compute", {{0}}}, {"compute", {{1}}}, {"d2h", {{2}}}}));
  CHECK(plan.waits == std::vector<Waits>{{}, {{0, 0}}, {}, {{2, 0}}});
  CHECK(plan.records == std::vector<char>{1, 0, 1, 0});
}

TEST_CASE("what an earlier wait of the stream implies is not waited for again") {
  // 2 has waited for 1, which comes after 0 on its stream: 3 need not wait for 0.
  const EventPlan plan = plan_events(kPlatform, body_of({{"h2d", {}}, {"h2d", {}}, {"compute", {{1}}}, {"compute", {{0}, {2}}}}));
  CHECK(plan.waits == std::vector<Waits>{{}, {}, {{1, 0}}, {}});
}

TEST_CASE("what the host waited for needs no wait on the device") {
  // The host's 1 starts after 0 has ended, and 2 after 1.
  const EventPlan plan = plan_events(kPlatform, body_of({{"d2h", {}}, {"cpu", {{0}}}, {"h2d", {{1}, {0}}}}));
  CHECK(plan.waits == std::vector<Waits>{{}, {{0, 0}}, {}});
}

TEST_CASE("dependencies on the host's work need no event") {
  const EventPlan plan = plan_events(kPlatform, body_of({{"data", {}}, {"h2d", {{0}}}}));
  CHECK(plan.waits == std::vector<Waits>{{}, {}});
  CHECK(plan.records == std::vector<char>{0, 0});
}

TEST_CASE("a dependency on an earlier step is waited for unless a path through the steps between implies it") {
  // 0 on h2d overwrites what 1 on compute read two steps before; 1 waits for 0 of its step.
  const EventPlan plan = plan_events(kPlatform, body_of({{"h2d", {{1, 2}}}, {"compute", {{0}}}}));
  CHECK(plan.waits == std::vector<Waits>{{{1, 2}}, {{0, 0}}});
  CHECK(plan.longest_distance == 2);
  // With a wait for the step before there is a path from two steps before.
  const EventPlan both = plan_events(kPlatform, body_of({{"h2d", {{1, 1}, {1, 2}}}, {"compute", {{0}}}}));
  CHECK(both.waits == std::vector<Waits>{{{1, 1}}, {{0, 0}}});
}

TEST_CASE("a step's gate opens when so many steps before are done, and for all when the run fails") {
  StepGate gate(2, 1);
  CHECK(gate.enter(0));
  gate.leave(0);
  gate.leave(0);
  CHECK(gate.enter(1));
  gate.fail();
  CHECK(!gate.enter(7));
}

}  // namespace plimsoll::test
