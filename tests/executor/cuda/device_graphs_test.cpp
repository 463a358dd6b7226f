#include <catch2/catch.hpp>

#include <set>

#include "executor/cuda/device_graphs.h"
#include "sim/planner/lower_to_plan.h"
#include "tests/support/tiny_platform.h"
#include "tests/support/tiny_training.h"

namespace plimsoll::test {
namespace {

Plan plan_of(const Strategy& strategy) {
  auto plan = lower_to_plan(tiny_spec(), tiny_recipe(), tiny_platform(), strategy, {});
  if (!plan) FAIL(plan.error().text());
  return std::move(*plan);
}

/// The step without addresses, which decide nothing here.
Program step_of(const Plan& plan) {
  Program program{.body = expand(plan, *plan.body("step")), .uses = {}, .micro_batches = 0};
  for (const Use& use : program.body.list.uses) {
    program.uses.push_back({.bytes = use.bytes, .slots = plan.buffers[use.target].slots});
  }
  return program;
}

std::vector<Strategy> strategies() {
  return {{.name = "resident"},
          {.name = "optimizer on the host", .optimizer = Tier::kHost, .gradients = Tier::kHost},
          {.name = "streamed",
           .recompute_every = 1,
           .parameters = Tier::kHost,
           .optimizer = Tier::kHost,
           .gradients = Tier::kHost},
          {.name = "early", .update_in_backward = true}};
}

}  // namespace

TEST_CASE("a stretch is of one stream in its order, waits at its beginning alone and is waited for at its end alone") {
  for (const Strategy& strategy : strategies()) {
    CAPTURE(strategy.name);
    const Plan plan = plan_of(strategy);
    const Program step = step_of(plan);
    const EventPlan events = plan_events(plan.platform, step.body);
    std::set<std::uint32_t> seen;
    for (const Stretch& stretch : find_stretches(plan, step, events)) {
      REQUIRE(stretch.size() >= kShortestStretch);
      const QueueId queue = step.body.list.instructions[stretch.front()].queue;
      for (std::size_t i = 0; i < stretch.size(); ++i) {
        const Instruction& instruction = step.body.list.instructions[stretch[i]];
        CHECK(seen.insert(stretch[i]).second);
        CHECK(instruction.queue == queue);
        CHECK(instruction.kind == InstructionKind::kLaunch);
        CHECK_FALSE(is_update(plan.at(instruction.kernel).kind));  // whose rate is another in each step
        CHECK(instruction.guard == kNoGuard);
        if (i > 0) CHECK(events.waits[stretch[i]].empty());
        if (i + 1 < stretch.size()) CHECK(events.records[stretch[i]] == 0);
        for (std::uint32_t id = stretch[0]; i > 0 && id < stretch[i]; ++id) {  // nothing of the stream stands in between
          if (step.body.list.instructions[id].queue == queue) CHECK(seen.contains(id));
        }
      }
    }
  }
}

TEST_CASE("nearly all kernels of a resident step but its updates are in a few stretches; streaming leaves fewer") {
  const auto counted = [](const Strategy& strategy) {
    const Plan plan = plan_of(strategy);
    const Program step = step_of(plan);
    std::pair<std::size_t, std::size_t> kernels{0, 0};  // in stretches, and all but updates
    for (const Stretch& stretch : find_stretches(plan, step, plan_events(plan.platform, step.body))) {
      kernels.first += stretch.size();
    }
    for (const Instruction& instruction : step.body.list.instructions) {
      if (instruction.kind == InstructionKind::kLaunch && !is_update(plan.at(instruction.kernel).kind)) ++kernels.second;
    }
    return kernels;
  };
  const auto resident = counted(strategies()[0]), streamed = counted(strategies()[2]);
  CAPTURE(resident, streamed);
  CHECK(resident.first >= 9 * resident.second / 10);
  CHECK(streamed.first * resident.second < resident.first * streamed.second);
}

}  // namespace plimsoll::test
