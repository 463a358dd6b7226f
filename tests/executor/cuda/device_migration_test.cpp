// The move from one plan to another in the middle of a training on a device.
#include <catch2/catch.hpp>

#include <filesystem>

#include "core/plan/expand.h"
#include "executor/cuda/device_executor.h"
#include "executor/cuda/loaded_device_plan.h"
#include "sim/planner/lower_to_plan.h"
#include "sim/planner/migrate_plan.h"
#include "tests/executor/cuda/emulated_device.h"
#include "tests/support/state_layouts.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_executor.h"
#include "tests/support/tiny_platform.h"

namespace plimsoll::test {
namespace {

Plan plan_of(const Strategy& strategy, Precision precision = Precision::kFp32) {
  Recipe recipe = tiny_recipe();
  recipe.precision = precision;
  auto plan = lower_to_plan(tiny_spec(), recipe, tiny_platform(), strategy, {.evaluation = true});
  if (!plan) FAIL(plan.error().text());
  return std::move(*plan);
}

/// What the device must hold for a plan: its arena and three streams' scratch.
Bytes taken_by(const Plan& plan) {
  return plan.arena_bytes(space_named(plan.platform, "gpu0")) + Bytes(3 * align_up(largest_scratch(plan), kBufferAlignment).count);
}

std::unique_ptr<DeviceExecutor> executor_of(const Plan& plan, const std::shared_ptr<EmulatedDevice>& device, const DriveOptions& drive = {}) {
  auto executor = DeviceExecutor::create(plan, device, {.threads = 2, .backend = "emulated", .drive = drive});
  if (!executor) FAIL(executor.error().text());
  (*executor)->initialize();
  return std::move(*executor);
}

std::vector<double> losses_of(DeviceExecutor& executor, std::int64_t first, std::int64_t steps) {
  const auto trace = executor.run_steps({.first_step = first, .steps = steps, .first_traced_step = first + steps}, kText);
  if (!trace) FAIL(trace.error().text());
  std::vector<double> losses;
  for (const StepSummary& step : trace->steps) losses.push_back(step.loss);
  return losses;
}

Plan migration_of(const Plan& old, const Plan& next, std::int64_t steps) {
  auto migration = migrate_plan(old, next, steps, {.leg = Bytes(4096), .staged_legs = 2});
  if (!migration) FAIL(migration.error().text());
  return std::move(migration->plan);
}

void migrate(DeviceExecutor& executor, const Plan& old, const Plan& next, std::int64_t steps) {
  const auto moved = executor.migrate(migration_of(old, next, steps), next);
  if (!moved) FAIL(moved.error().text());
}

}  // namespace

TEST_CASE("a training that changes its plan on a device that cannot hold both has bit for bit the losses of one that does not") {
  const TemporaryFolder folder;
  for (const Precision precision : {Precision::kFp32, Precision::kFp16Mixed}) {
    const std::vector<double> expected = losses_of(*executor_of(plan_of({}, precision), std::make_shared<EmulatedDevice>(64 * kMiB)), 0, 4);
    std::uint64_t seed = 0;
    for (const Strategy& first : state_layouts()) {
      for (const Strategy& second : state_layouts()) {
        CAPTURE(first.name, second.name, seed, precision == Precision::kFp32);
        if (precision != Precision::kFp32 && seed++ % 3 != 0) continue;
        const Plan old = plan_of(first, precision), next = plan_of(second, precision);
        const Bytes room = std::max(taken_by(old), taken_by(next)) + Bytes(64);
        const auto device = std::make_shared<EmulatedDevice>(room, seed++);
        const auto executor = executor_of(old, device, {.folder = folder.path()});
        std::vector<double> losses = losses_of(*executor, 0, 2);
        migrate(*executor, old, next, 2);
        for (const double loss : losses_of(*executor, 2, 2)) losses.push_back(loss);
        CHECK(losses == expected);
        CHECK(executor->evaluate(kText, 1));
        for (const SpacePeak& peak : executor->touched()) CHECK(peak.bytes <= next.arena_bytes(peak.space));
      }
    }
  }
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("after a change of plans every kernel was used before its first step, and nothing that is copied is not pinned") {
  Plan old = plan_of(state_layouts()[2]);
  for (const Strategy& second : state_layouts()) {
    CAPTURE(second.name);
    const Plan next = plan_of(second);
    const auto device = std::make_shared<EmulatedDevice>(64 * kMiB);
    const auto executor = executor_of(old, device);
    losses_of(*executor, 0, 1);
    migrate(*executor, old, next, 1);
    const std::size_t used = device->kernels_used();
    const std::int64_t blocking = device->blocking_copies();
    losses_of(*executor, 1, 2);
    CHECK(device->kernels_used() == used);
    CHECK(device->blocking_copies() == blocking);
    old = next;
  }
}

TEST_CASE("a change of plans carries out the migration's own instructions, and says when each ran") {
  const Plan old = plan_of(state_layouts()[2]), next = plan_of({});
  const auto executor = executor_of(old, std::make_shared<EmulatedDevice>(64 * kMiB));
  losses_of(*executor, 0, 1);
  const Plan migration = migration_of(old, next, 1);
  const auto moved = executor->migrate(migration, next);
  REQUIRE(moved);
  CHECK(moved->events.size() == expand(migration, *migration.body(kMigrateBody)).size());
}

TEST_CASE("a change of plans for which the device has no room says what is missing, and the training goes on with its plan") {
  const Plan old = plan_of(state_layouts()[2]), next = plan_of({});
  REQUIRE(taken_by(old) < taken_by(next));
  const std::vector<double> expected = losses_of(*executor_of(old, std::make_shared<EmulatedDevice>(64 * kMiB)), 0, 4);
  const auto executor = executor_of(old, std::make_shared<EmulatedDevice>(taken_by(old) + Bytes(64)));
  std::vector<double> losses = losses_of(*executor, 0, 2);
  const auto refused = executor->migrate(migration_of(old, next, 2), next);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().text().find("bytes are missing") != std::string::npos);
  CHECK(refused.error().text().find("the plan needs " + to_text(next.arena_bytes(space_named(next.platform, "gpu0")))) != std::string::npos);
  for (const double loss : losses_of(*executor, 2, 2)) losses.push_back(loss);
  CHECK(losses == expected);
}

}  // namespace plimsoll::test
