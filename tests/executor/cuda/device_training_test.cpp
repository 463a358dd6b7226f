#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <cmath>

#include "core/plan/verify_plan.h"
#include "executor/cuda/device_executor.h"
#include "executor/cuda/launch/attention.h"
#include "sim/planner/lower_to_plan.h"
#include "tests/executor/cuda/emulated_device.h"
#include "tests/support/tiny_executor.h"
#include "tests/support/tiny_platform.h"

namespace plimsoll::test {
namespace {

Plan plan_of(const Strategy& strategy, const ModelSpec& spec = tiny_spec(), const Recipe& recipe = tiny_recipe(),
             const Platform& machine = tiny_platform()) {
  auto plan = lower_to_plan(spec, recipe, machine, strategy, {.evaluation = true});
  if (!plan) FAIL(plan.error().text());
  return std::move(*plan);
}

std::unique_ptr<DeviceExecutor> device_executor_of(const Plan& plan, std::shared_ptr<EmulatedDevice> device,
                                                   std::uint64_t jitter = 0) {
  auto executor = DeviceExecutor::create(plan, std::move(device), {.threads = 2, .jitter_seed = jitter, .backend = "emulated"});
  if (!executor) FAIL(executor.error().text());
  (*executor)->initialize();
  return std::move(*executor);
}

std::vector<double> device_losses(const Plan& plan, std::uint64_t seed, std::int64_t steps) {
  const auto executor = device_executor_of(plan, std::make_shared<EmulatedDevice>(64 * kMiB, seed), seed);
  auto trace = executor->run_steps({.first_step = 0, .steps = steps, .first_traced_step = 0}, kText);
  if (!trace) FAIL(trace.error().text());
  std::vector<double> losses;
  for (const StepSummary& step : trace->steps) losses.push_back(step.loss);
  return losses;
}

/// Strategies that differ in every choice of time and place.
std::vector<Strategy> strategies() {
  return {{.name = "resident"},
          {.name = "resident, recomputed", .recompute_every = 1},
          {.name = "optimizer on the host", .optimizer = Tier::kHost, .gradients = Tier::kHost},
          {.name = "optimizer on the host, in order", .recompute_every = 2, .optimizer = Tier::kHost, .overlap = false},
          {.name = "streamed",
           .recompute_every = 1,
           .parameters = Tier::kHost,
           .optimizer = Tier::kHost,
           .gradients = Tier::kHost},
          {.name = "on the drive", .optimizer = Tier::kSsd, .gradients = Tier::kHost, .staging_slots = 2},
          {.name = "states come to the device", .optimizer = Tier::kHost, .device_update_blocks = 2},
          {.name = "streamed, states come",
           .recompute_every = 1,
           .parameters = Tier::kHost,
           .optimizer = Tier::kHost,
           .gradients = Tier::kHost,
           .device_update_blocks = 1},
          {.name = "from the drive", .optimizer = Tier::kSsd, .gradients = Tier::kHost, .device_update_blocks = 2, .staging_slots = 2}};
}

}  // namespace

TEST_CASE("a tiny model learns on the device as it does on the CPU, to a few roundings a step") {
  for (const Family family : {Family::kGpt2, Family::kLlama}) {
    CAPTURE(family == Family::kGpt2);
    const ModelSpec spec = tiny_spec(family);
    auto cpu = lower_to_plan(spec, tiny_recipe(), tiny_machine(), {}, {.evaluation = true});
    REQUIRE(cpu);
    const auto reference = executor_of(*cpu);
    const std::vector<double> expected = train(*reference, 0, 8);
    const std::vector<double> found = device_losses(plan_of({}, spec), 0, 8);
    REQUIRE(found.size() == expected.size());
    for (std::size_t s = 0; s < found.size(); ++s) CHECK(found[s] == Approx(expected[s]).epsilon(1e-5));
    CHECK(found.back() < found.front());
  }
}

TEST_CASE("logits in rows wider than the vocabulary are learnt on the device as on the CPU, by every strategy") {
  ModelSpec spec = tiny_spec();
  spec.vocabulary = 2007;
  auto cpu = lower_to_plan(spec, tiny_recipe(), tiny_machine(), {}, {.evaluation = true});
  REQUIRE(cpu);
  const std::vector<double> expected = train(*executor_of(*cpu), 0, 3), first = device_losses(plan_of({}, spec), 0, 3);
  for (std::size_t s = 0; s < first.size(); ++s) CHECK(first[s] == Approx(expected[s]).epsilon(1e-5));
  for (const Strategy& strategy : strategies()) {
    CAPTURE(strategy.name);
    CHECK(device_losses(plan_of(strategy, spec), 5, 3) == first);
  }
}

TEST_CASE("every strategy gives bitwise the same losses on the device, however late or early its work is done") {
  for (const Family family : {Family::kGpt2, Family::kLlama}) {
    const ModelSpec spec = tiny_spec(family);
    const std::vector<double> expected = device_losses(plan_of({}, spec), 0, 3);
    std::uint64_t seed = 1;
    for (const Strategy& strategy : strategies()) {
      CAPTURE(strategy.name, seed);
      const Plan plan = plan_of(strategy, spec);
      CHECK(device_losses(plan, 0, 3) == expected);
      CHECK(device_losses(plan, seed++, 3) == expected);
    }
  }
}

TEST_CASE("updates in the backward pass, redone where the norm clips, give the device's bits of clipping first") {
  Recipe recipe = tiny_recipe();
  recipe.clip = 0.9;  // some steps clip, some do not
  const std::vector<double> expected = device_losses(plan_of({}, tiny_spec(), recipe), 0, 4);
  Strategy early{.name = "early"};
  early.update_in_backward = true;
  CHECK(device_losses(plan_of(early, tiny_spec(), recipe), 0, 4) == expected);
  early.optimizer = Tier::kHost;
  early.gradients = Tier::kHost;
  CHECK(device_losses(plan_of(early, tiny_spec(), recipe), 3, 4) == expected);
  early.device_update_blocks = 2;
  CHECK(device_losses(plan_of(early, tiny_spec(), recipe), 4, 4) == expected);
  early.parameters = Tier::kHost;
  CHECK(device_losses(plan_of(early, tiny_spec(), recipe), 5, 4) == expected);
}

TEST_CASE("bf16 runs on the device, masters on it or on the host, with the same bits") {
  Recipe recipe = tiny_recipe();
  recipe.precision = Precision::kBf16Mixed;
  const std::vector<double> expected = device_losses(plan_of({}, tiny_spec(), recipe), 0, 3);
  CHECK(expected.front() == Approx(std::log(128.0)).margin(0.1));
  CHECK(device_losses(plan_of({.optimizer = Tier::kHost, .gradients = Tier::kHost}, tiny_spec(), recipe), 5, 3) == expected);
}

TEST_CASE("attention by matrix units is recomputed with the bits of its first time, whatever the plan") {
  ModelSpec spec = tiny_spec(Family::kLlama);
  spec.head_dim = 32;
  REQUIRE(cuda::suits_matrix_units(spec.head_dim));
  for (const Precision precision : {Precision::kBf16Mixed, Precision::kFp16Mixed}) {
    Recipe recipe = tiny_recipe();
    recipe.precision = precision;
    const std::vector<double> expected = device_losses(plan_of({}, spec, recipe), 0, 2);
    auto on_cpu = lower_to_plan(spec, recipe, tiny_machine(), {}, {});
    REQUIRE(on_cpu);
    const std::vector<double> of_cpu = train(*executor_of(*on_cpu), 0, 2);
    for (std::size_t s = 0; s < 2; ++s) CHECK(expected[s] == Approx(of_cpu[s]).epsilon(2e-3));
    for (const Strategy& strategy : {strategies()[1], strategies()[4]}) {
      CAPTURE(strategy.name);
      CHECK(device_losses(plan_of(strategy, spec, recipe), 3, 2) == expected);
    }
  }
}

TEST_CASE("fp16 on the device skips the steps that the CPU skips, under the same scales, wherever the optimizer is") {
  Recipe recipe = tiny_recipe();
  recipe.precision = Precision::kFp16Mixed;
  recipe.loss_scaling = {.start = 0x1p28, .interval = 3};  // too large at first; then it grows and overflows again
  auto on_cpu = lower_to_plan(tiny_spec(), recipe, tiny_machine(), {}, {});
  REQUIRE(on_cpu);
  const auto reference = executor_of(*on_cpu);
  const auto expected = reference->run_steps({.first_step = 0, .steps = 14}, kText);
  REQUIRE(expected);
  Strategy early{.name = "early", .optimizer = Tier::kHost, .gradients = Tier::kHost, .update_in_backward = true};
  std::vector<double> first_losses;
  Strategy visiting = early;
  visiting.device_update_blocks = 2;
  const Strategy later{.optimizer = Tier::kHost, .device_update_blocks = 1};
  const Strategy from_drive{.optimizer = Tier::kSsd, .gradients = Tier::kHost, .device_update_blocks = 2};
  for (const Strategy& strategy :
       {Strategy{}, Strategy{.optimizer = Tier::kHost, .gradients = Tier::kHost}, early, visiting, later, from_drive}) {
    CAPTURE(describe(strategy));
    const auto executor = device_executor_of(plan_of(strategy, tiny_spec(), recipe), std::make_shared<EmulatedDevice>(64 * kMiB));
    const auto found = executor->run_steps({.first_step = 0, .steps = 14}, kText);
    if (!found) FAIL(found.error().text());
    std::vector<double> losses;
    int skipped = 0;
    for (std::size_t s = 0; s < 14; ++s) {
      CAPTURE(s, found->steps[s].loss_scale, expected->steps[s].loss_scale);
      CHECK(found->steps[s].skipped == expected->steps[s].skipped);
      CHECK(found->steps[s].loss_scale == expected->steps[s].loss_scale);
      CHECK(found->steps[s].loss == Approx(expected->steps[s].loss).epsilon(2e-3));
      skipped += found->steps[s].skipped ? 1 : 0;
      losses.push_back(found->steps[s].loss);
    }
    CHECK(skipped > 2);
    CHECK(skipped < 12);
    if (first_losses.empty()) first_losses = losses;
    CHECK(losses == first_losses);  // the same bits on the device and on the host
  }
}

TEST_CASE("with graphs or without, traced in between or not, a device leaves the same bits") {
  struct How {
    bool graphs;
    std::int64_t traced_from;
    std::uint64_t seed;
  };
  const Strategy early{.name = "early", .update_in_backward = true};
  const Strategy on_host{.name = "optimizer on the host", .optimizer = Tier::kHost, .gradients = Tier::kHost};
  for (const Strategy& strategy : {Strategy{}, on_host, early}) {
    const Plan plan = plan_of(strategy);
    std::vector<double> expected;
    for (const How& how : {How{false, 9, 0}, How{true, 0, 0}, How{true, 2, 0}, How{true, 9, 4}}) {
      const auto device = std::make_shared<EmulatedDevice>(64 * kMiB, how.seed);
      const auto executor = DeviceExecutor::create(plan, device, {.threads = 2, .graphs = how.graphs, .jitter_seed = how.seed});
      if (!executor) FAIL(executor.error().text());
      (*executor)->initialize();
      const std::int64_t before = device->graph_runs();
      const auto trace = (*executor)->run_steps({.first_step = 0, .steps = 3, .first_traced_step = how.traced_from}, kText);
      if (!trace) FAIL(trace.error().text());
      std::vector<double> found;
      for (const StepSummary& step : trace->steps) found.push_back(step.loss);
      if (expected.empty()) expected = found;
      const std::int64_t runs = device->graph_runs() - before, untraced = std::min<std::int64_t>(how.traced_from, 3);
      CAPTURE(strategy.name, how.graphs, how.traced_from, how.seed, runs);
      CHECK(found == expected);
      CHECK((runs > 0) == (how.graphs && untraced > 0));
      if (untraced > 0) CHECK(runs % untraced == 0);  // as many in each step
    }
  }
}

TEST_CASE("a traced step has one event for each instruction, in the order of its dependencies") {
  const Plan plan = plan_of({.optimizer = Tier::kHost, .gradients = Tier::kHost});
  const FlatBody body = expand(plan, *plan.body("step"));
  const auto executor = device_executor_of(plan, std::make_shared<EmulatedDevice>(64 * kMiB));
  const auto trace = executor->run_steps({.first_step = 0, .steps = 9, .first_traced_step = 0}, kText);
  REQUIRE(trace);
  REQUIRE(trace->events.size() == 9 * body.size());
  for (const TraceEvent& event : trace->events) {
    CHECK(event.end >= event.start);
    if (event.step == 0) continue;
    for (const Dependency& dependency : body.dependencies(body.list.instructions[event.instruction])) {
      if (dependency.distance > event.step) continue;
      const std::size_t place = (event.step - dependency.distance) * body.size() + dependency.target;
      CHECK(trace->events[place].end.count <= event.end.count + 1000000);  // two clocks
    }
  }
}

TEST_CASE("a plan that does not fit what is free of the device is refused with the bytes that are missing") {
  const Plan plan = plan_of({});
  const Bytes arena = plan.arena_bytes(space_named(plan.platform, "gpu0"));
  const auto refused = DeviceExecutor::create(plan, std::make_shared<EmulatedDevice>(arena - Bytes(1000)), {.threads = 1});
  REQUIRE(!refused);
  CHECK(refused.error().text().find("bytes are missing") != std::string::npos);
  CHECK(refused.error().text().find("--device-memory") != std::string::npos);
}

TEST_CASE("what an executor took of the device and pinned goes with it") {
  const auto device = std::make_shared<EmulatedDevice>(64 * kMiB);
  {
    const auto executor = device_executor_of(plan_of({.optimizer = Tier::kHost, .gradients = Tier::kHost}), device);
    CHECK(device->reserved() > Bytes(0));
    CHECK(device->pinned() == 1);
  }
  CHECK(device->reserved() == Bytes(0));
  CHECK(device->pinned() == 0);
}

TEST_CASE("fp64, delayed updates and plans without a GPU are refused by name") {
  const auto text_of = [](const Plan& plan) {
    const auto refused = DeviceExecutor::create(plan, std::make_shared<EmulatedDevice>(64 * kMiB), {});
    return refused ? std::string() : refused.error().text();
  };
  Recipe fp64 = tiny_recipe();
  fp64.precision = Precision::kFp64;
  CHECK(text_of(plan_of({}, tiny_spec(), fp64)).find("fp64") != std::string::npos);
  CHECK(text_of(plan_of({}, tiny_spec(), tiny_recipe(), tiny_machine())).find("has no GPU") != std::string::npos);
}

}  // namespace plimsoll::test
