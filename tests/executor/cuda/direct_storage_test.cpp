// A drive that reaches the device's memory without the host's.
#include <catch2/catch.hpp>

#include "core/plan/expand.h"
#include "executor/checkpoint/training_state.h"
#include "executor/cuda/device_executor.h"
#include "sim/planner/lower_to_plan.h"
#include "sim/planner/migrate_plan.h"
#include "tests/executor/cuda/emulated_device.h"
#include "tests/support/direct_ways.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_executor.h"
#include "tests/support/tiny_platform.h"

namespace plimsoll::test {
namespace {

constexpr Bytes kRoom = 64 * kMiB;

Plan plan_of(const Strategy& strategy, const Recipe& recipe, bool direct = true, const ModelSpec& spec = tiny_spec()) {
  const Platform machine = direct ? with_direct_ways(tiny_platform()) : tiny_platform();
  auto plan = lower_to_plan(spec, recipe, machine, strategy, {.evaluation = true});
  if (!plan) FAIL(plan.error().text());
  return std::move(*plan);
}

std::unique_ptr<DeviceExecutor> executor_of(const Plan& plan, const std::shared_ptr<EmulatedDevice>& device, const DriveOptions& drive,
                                            std::uint64_t jitter = 0) {
  auto executor = DeviceExecutor::create(plan, device, {.threads = 2, .jitter_seed = jitter, .backend = "emulated", .drive = drive});
  if (!executor) FAIL(executor.error().text());
  (*executor)->initialize();
  return std::move(*executor);
}

std::vector<double> losses_of(DeviceExecutor& executor, std::int64_t first, std::int64_t steps) {
  const auto trace = executor.run_steps({.first_step = first, .steps = steps, .first_traced_step = first + 1}, kText);
  if (!trace) FAIL(trace.error().text());
  std::vector<double> losses;
  for (const StepSummary& step : trace->steps) losses.push_back(step.loss);
  return losses;
}

const Strategy kWeights{.name = "weights", .recompute_every = 1, .parameters = Tier::kSsd, .optimizer = Tier::kSsd,
                        .gradients = Tier::kHost, .staging_slots = 3};
const Strategy kGradients{.name = "gradients", .optimizer = Tier::kSsd, .gradients = Tier::kSsd};

std::vector<Strategy> strategies() {
  return {kWeights,
          kGradients,
          {.name = "activations", .activations = Tier::kSsd, .activation_blocks = 2},
          {.name = "gradients, sums made on the device", .optimizer = Tier::kSsd, .gradients = Tier::kSsd,
           .loop_order = LoopOrder::kBreadthFirst},
          {.name = "early updates", .parameters = Tier::kSsd, .optimizer = Tier::kSsd, .gradients = Tier::kSsd, .update_in_backward = true},
          {.name = "all of them", .recompute_every = 1, .parameters = Tier::kSsd, .optimizer = Tier::kSsd, .gradients = Tier::kSsd,
           .activations = Tier::kSsd, .activation_blocks = 2, .host_activation_blocks = 1, .staging_slots = 3}};
}

/// False, and a warning, where the folder's file system always goes through the page cache.
bool bypasses_cache(const TemporaryFolder& folder) {
  if (DriveFile(folder.path(), kStorageAlignment, true).direct()) return true;
  WARN("no direct I/O in " << folder.path() << ": nothing was tested");
  return false;
}

Recipe recipe_of(std::int64_t accumulate, Precision precision) {
  Recipe recipe = tiny_recipe();
  recipe.accumulate = accumulate;
  recipe.precision = precision;
  recipe.clip = 0.9;  // some steps clip, some do not
  return recipe;
}

}  // namespace

TEST_CASE("what passes between drive and device alone changes no bit of any loss, however late or early the device's work is done") {
  const TemporaryFolder folder;
  if (!bypasses_cache(folder)) return;
  std::uint64_t seed = 0;
  for (const std::int64_t accumulate : {1, 2}) {
    for (const Precision precision : {Precision::kFp32, Precision::kFp16Mixed}) {
      const Recipe recipe = recipe_of(accumulate, precision);
      const DriveOptions drive{.folder = folder.path(), .checksums = accumulate == 2};
      const auto alone = std::make_shared<EmulatedDevice>(kRoom);
      const auto resident = executor_of(plan_of({}, recipe, false), alone, drive);
      const std::vector<double> expected = losses_of(*resident, 0, 3);
      const auto held_out = resident->evaluate(kText, 2);
      REQUIRE(held_out);
      CHECK(alone->direct_bytes() == 0);
      for (const Strategy& strategy : strategies()) {
        for (const bool early : {false, true}) {
          seed += early ? 1 : 0;
          CAPTURE(strategy.name, accumulate, precision == Precision::kFp32, early, seed);
          const auto device = std::make_shared<EmulatedDevice>(kRoom, early ? seed : 0);
          const auto executor = executor_of(plan_of(strategy, recipe), device, drive, early ? seed : 0);
          CHECK(losses_of(*executor, 0, 3) == expected);
          CHECK(executor->evaluate(kText, 2).value() == *held_out);
          CHECK((device->direct_bytes() > 0) == (strategy.name != "gradients" || accumulate == 1));
        }
      }
    }
  }
}

TEST_CASE("states on a drive that only the device reads are stored and restored through memory of their own") {
  const TemporaryFolder folder;
  if (!bypasses_cache(folder)) return;
  const DriveOptions drive{.folder = folder.path()};
  const std::filesystem::path path = folder.file("state.safetensors");
  const Recipe recipe = recipe_of(1, Precision::kFp16Mixed);
  const std::vector<double> whole =
      losses_of(*executor_of(plan_of({}, recipe, false), std::make_shared<EmulatedDevice>(kRoom), drive), 0, 5);
  const auto first = executor_of(plan_of(kWeights, recipe), std::make_shared<EmulatedDevice>(kRoom), drive);
  losses_of(*first, 0, 2);
  const ReadState read = [&](TensorKind kind, GroupId group) { return first->state(kind, group); };
  REQUIRE(save_training_state(path, tiny_spec(), recipe, 2, read));
  const auto second = executor_of(plan_of(kWeights, recipe), std::make_shared<EmulatedDevice>(kRoom), drive);
  const WriteState write = [&](TensorKind kind, GroupId group, const FillState& fill) { second->set_state(kind, group, fill); };
  REQUIRE(load_training_state(path, tiny_spec(), recipe, write));
  CHECK(losses_of(*second, 2, 3) == std::vector<double>(whole.begin() + 2, whole.end()));
}

TEST_CASE("a change of plans to and from a drive that reaches the device moves the ways to where its memory is then") {
  const TemporaryFolder folder;
  if (!bypasses_cache(folder)) return;
  const DriveOptions drive{.folder = folder.path()};
  const Recipe recipe = recipe_of(1, Precision::kFp32);
  const std::vector<double> expected =
      losses_of(*executor_of(plan_of({}, recipe, false), std::make_shared<EmulatedDevice>(kRoom), drive), 0, 6);
  const Plan resident = plan_of({}, recipe), weights = plan_of(kWeights, recipe), gradients = plan_of(kGradients, recipe);
  const auto device = std::make_shared<EmulatedDevice>(kRoom);
  const auto executor = executor_of(resident, device, drive);
  std::vector<double> losses = losses_of(*executor, 0, 2);
  const Plan* now = &resident;
  for (const Plan* next : {&weights, &gradients}) {
    const auto steps = static_cast<std::int64_t>(losses.size());
    const auto migration = migrate_plan(*now, *next, steps, {.leg = Bytes(4096), .staged_legs = 2});
    if (!migration) FAIL(migration.error().text());
    const std::int64_t before = device->direct_bytes();
    const auto moved = executor->migrate(migration->plan, *next);
    if (!moved) FAIL(moved.error().text());
    CHECK(device->direct_bytes() == before);  // states move by way of the host
    for (const double loss : losses_of(*executor, steps, 2)) losses.push_back(loss);
    CHECK(device->direct_bytes() > before);
    now = next;
  }
  CHECK(losses == expected);
}

TEST_CASE("a device without a way to drives is refused before anything is reserved, with what to do without") {
  const TemporaryFolder folder;
  const auto device = std::make_shared<EmulatedDevice>(kRoom);
  device->refuse_direct_storage();
  const Recipe recipe = recipe_of(1, Precision::kFp32);
  const auto refused = DeviceExecutor::create(plan_of(kWeights, recipe), device, {.drive = {.folder = folder.path()}});
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().text(), Catch::Contains("leave --direct-storage out"));
  CHECK(device->reserved() == Bytes(0));
  CHECK(DeviceExecutor::create(plan_of(kWeights, recipe, false), device, {.drive = {.folder = folder.path()}}));
}

TEST_CASE("a plan whose direct transfers are not whole blocks is refused by name") {
  const TemporaryFolder folder;
  Plan plan = plan_of(kWeights, recipe_of(1, Precision::kFp32));
  const SpaceId ssd = *plan.platform.space(SpaceKind::kSsd);
  for (Buffer& buffer : plan.buffers) {
    if (buffer.space == ssd) buffer.offset += kBufferAlignment;
  }
  for (Arena& arena : plan.arenas) {
    if (arena.space == ssd) arena.bytes += kBufferAlignment;
  }
  const auto refused = DeviceExecutor::create(plan, std::make_shared<EmulatedDevice>(kRoom), {.drive = {.folder = folder.path()}});
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().text(), Catch::Contains("bypass the page cache"));
}

}  // namespace plimsoll::test
