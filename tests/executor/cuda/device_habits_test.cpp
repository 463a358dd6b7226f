#include <catch2/catch.hpp>

#include "executor/cuda/device_executor.h"
#include "sim/planner/lower_to_plan.h"
#include "tests/executor/cuda/emulated_device.h"
#include "tests/support/tiny_executor.h"
#include "tests/support/tiny_platform.h"

// What a real device does not forgive, or takes time and memory for, of which losses show nothing.
namespace plimsoll::test {
namespace {

std::vector<Strategy> strategies() {
  return {{.name = "resident"},
          {.name = "optimizer on the host", .optimizer = Tier::kHost, .gradients = Tier::kHost},
          {.name = "streamed",
           .recompute_every = 1,
           .parameters = Tier::kHost,
           .optimizer = Tier::kHost,
           .gradients = Tier::kHost,
           .staging_slots = 2},
          {.name = "on the drive", .optimizer = Tier::kSsd, .gradients = Tier::kHost},
          {.name = "early", .optimizer = Tier::kHost, .gradients = Tier::kHost, .update_in_backward = true}};
}

/// A plan that sums the gradients of two micro-batches, loaded on a device.
std::unique_ptr<DeviceExecutor> loaded(const Strategy& strategy, Precision precision, const std::shared_ptr<EmulatedDevice>& device) {
  Recipe recipe = tiny_recipe();
  recipe.precision = precision;
  auto plan = lower_to_plan(tiny_spec(Family::kLlama), recipe, tiny_platform(), strategy, {.evaluation = true});
  if (!plan) FAIL(plan.error().text());
  auto executor = DeviceExecutor::create(*plan, device, {.threads = 2, .backend = "emulated"});
  if (!executor) FAIL(executor.error().text());
  (*executor)->initialize();
  return std::move(*executor);
}

template <typename Look>
void for_all(const Look& look) {
  for (const Strategy& strategy : strategies()) {
    for (const Precision precision : {Precision::kFp32, Precision::kFp16Mixed}) {
      CAPTURE(strategy.name, precision == Precision::kFp32);
      const auto device = std::make_shared<EmulatedDevice>(64 * kMiB);
      look(*loaded(strategy, precision, device), *device);
    }
  }
}

void run(DeviceExecutor& executor, std::int64_t first, std::int64_t steps, std::int64_t traced_from) {
  const auto trace = executor.run_steps({.first_step = first, .steps = steps, .first_traced_step = traced_from}, kText);
  if (!trace) FAIL(trace.error().text());
}

}  // namespace

TEST_CASE("every kernel of a plan is used before its first step as steps use it: summing or not, aligned alike") {
  for_all([](DeviceExecutor& executor, EmulatedDevice& device) {
    const std::size_t before = device.kernels_used();
    run(executor, 0, 3, 2);
    REQUIRE(executor.evaluate(kText, 2));
    CHECK(device.kernels_used() == before);
  });
}

TEST_CASE("while steps run nothing is copied from or to memory that is not pinned") {
  for_all([](DeviceExecutor& executor, EmulatedDevice& device) {
    const std::int64_t before = device.blocking_copies();
    run(executor, 0, 3, 1);
    CHECK(device.blocking_copies() == before);
  });
}

TEST_CASE("a plan that is run in many pieces makes no more events than one that is run in a few, and none in a step") {
  for_all([](DeviceExecutor& executor, EmulatedDevice& device) {
    for (std::int64_t step = 0; step < 4; ++step) run(executor, step, 1, step);
    const std::size_t after_some = device.events();
    for (std::int64_t step = 4; step < 12; ++step) run(executor, step, 1, step);
    CHECK(device.events() == after_some);
  });
}

}  // namespace plimsoll::test
