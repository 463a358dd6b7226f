// Training whose optimizer states lie on a drive.
#include <catch2/catch.hpp>

#include <filesystem>

#include "core/plan/expand.h"
#include "core/plan/verify_plan.h"
#include "executor/checkpoint/training_state.h"
#include "executor/cpu/cpu_executor.h"
#include "sim/planner/lower_to_plan.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_executor.h"

namespace plimsoll {
namespace {

const Strategy kOnSsd{
    .name = "offload-optimizer-ssd", .optimizer = Tier::kSsd, .gradients = Tier::kHost, .staging_slots = 3};
/// Weights and states on the drive, weights streamed to the device.
const Strategy kAllOnSsd{.name = "stream-ssd",
                         .recompute_every = 1,
                         .parameters = Tier::kSsd,
                         .optimizer = Tier::kSsd,
                         .gradients = Tier::kHost};

Plan plan_of(const Strategy& strategy, const Recipe& recipe = tiny_recipe()) {
  auto plan = lower_to_plan(tiny_spec(), recipe, tiny_machine(), strategy, {.evaluation = true});
  REQUIRE(plan);
  return std::move(*plan);
}

}  // namespace

TEST_CASE("states on a drive change no bit of any loss, whichever way bytes move, under random delays") {
  const TemporaryFolder folder;
  for (const std::int64_t accumulate : {1, 3}) {
    Recipe recipe = tiny_recipe();
    recipe.accumulate = accumulate;
    const std::vector<double> expected = train(*executor_of(plan_of({}, recipe), {.threads = 1}), 0, 5);
    std::uint64_t jitter = 1;
    for (const IoWay way : {IoWay::kRegisteredRing, IoWay::kRing, IoWay::kThreads}) {
      for (const std::int64_t threads : {1, 2}) {
        CAPTURE(static_cast<int>(way), threads, accumulate, jitter);
        for (const Strategy& strategy : {kOnSsd, kAllOnSsd}) {
          const DriveOptions drive{.folder = folder.path(), .way = way};
          const auto executor =
              executor_of(plan_of(strategy, recipe), {.threads = threads, .jitter_seed = jitter++, .drive = drive});
          CHECK(train(*executor, 0, 5) == expected);
          CHECK(executor->check_touched());
        }
      }
    }
  }
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("what crosses to and from a drive is whole blocks on both sides, and kernels keep their true sizes") {
  const Plan plan = plan_of(kOnSsd);
  REQUIRE(verify_plan(plan));
  const FlatBody body = expand(plan, *plan.body("step"));
  std::size_t crossings = 0;
  for (const Instruction& instruction : body.list.instructions) {
    const bool crosses = instruction.kind == InstructionKind::kRead || instruction.kind == InstructionKind::kWrite;
    for (const Use& use : body.uses(instruction)) {
      const Buffer& buffer = plan.buffers[use.target];
      if (crosses) {
        ++crossings;
        CHECK((buffer.offset + use.offset).count % 4096 == 0);
        CHECK(use.bytes.count % 4096 == 0);
      } else if (instruction.kind == InstructionKind::kLaunch && plan.at(instruction.kernel).kind == OpKind::kAdamW &&
                 use.bytes.count > 16) {  // but for the factor and norm of clipping
        CHECK(use.bytes.count == plan.at(instruction.kernel).shape.rows * 4);
      }
    }
  }
  // Three states of each group of parameters are read and written, and each time two buffers are used.
  CHECK(crossings == 2 * 2 * 3 * lay_out_parameters(plan.spec).groups.size());
}

TEST_CASE("a run with states on a drive is resumed bit for bit, from and to any strategy") {
  const TemporaryFolder folder;
  const DriveOptions drive{.folder = folder.path()};
  const std::filesystem::path path = folder.file("state.safetensors");
  const Recipe recipe = tiny_recipe();
  const std::vector<double> whole = train(*executor_of(plan_of({}), {}), 0, 9);
  for (const Strategy& before : {kOnSsd, kAllOnSsd, Strategy{}}) {
    const auto first = executor_of(plan_of(before), {.drive = drive});
    train(*first, 0, 4);
    const ReadState read = [&](TensorKind kind, GroupId group) { return first->state(kind, group); };
    REQUIRE(save_training_state(path, tiny_spec(), recipe, 4, read));
    for (const Strategy& after : {kOnSsd, kAllOnSsd, Strategy{}}) {
      const auto second = executor_of(plan_of(after), {.drive = drive});
      const WriteState write = [&](TensorKind kind, GroupId group, const FillState& fill) {
        second->set_state(kind, group, fill);
      };
      const auto done = load_training_state(path, tiny_spec(), recipe, write);
      REQUIRE(done);
      CHECK(train(*second, *done, 5) == std::vector<double>(whole.begin() + 4, whole.end()));
    }
    CHECK(train(*first, 4, 5) == std::vector<double>(whole.begin() + 4, whole.end()));  // saving disturbed nothing
  }
}

TEST_CASE("the trace's source says how bytes moved, and its peak how far the drive was written") {
  const TemporaryFolder folder;
  const Plan plan = plan_of(kOnSsd);
  const DriveOptions drive{.folder = folder.path(), .way = IoWay::kThreads};
  const auto executor = executor_of(plan, {.backend = "cpu", .drive = drive});
  const auto trace = executor->run_steps({.steps = 2}, kText);
  REQUIRE(trace);
  CHECK_THAT(trace->source, Catch::StartsWith("cpu; ssd: pread and pwrite on 8 threads, "));
  const SpaceId ssd = *plan.platform.space(SpaceKind::kSsd);
  for (const SpacePeak& peak : trace->peaks) {
    if (peak.space == ssd) CHECK(peak.bytes == plan.arena_bytes(ssd));
  }
}

TEST_CASE("a plan whose transfers are not whole blocks runs through the page cache and says so") {
  const TemporaryFolder folder;
  Plan plan = plan_of(kOnSsd);
  const SpaceId ssd = *plan.platform.space(SpaceKind::kSsd);
  for (Buffer& buffer : plan.buffers) {
    if (buffer.space == ssd) buffer.offset += kBufferAlignment;
  }
  for (Arena& arena : plan.arenas) {
    if (arena.space == ssd) arena.bytes += kBufferAlignment;
  }
  const auto executor = executor_of(plan, {.drive = {.folder = folder.path()}});
  CHECK_THAT(executor->source(), Catch::Contains("buffered (the plan's transfers are not whole blocks)"));
  CHECK(train(*executor, 0, 4) == train(*executor_of(plan_of({}), {}), 0, 4));
}

TEST_CASE("a guarded redo of updates on a drive bypasses the page cache as any transfer does") {
  const TemporaryFolder folder;
  Strategy overlapped = kOnSsd;
  overlapped.update_in_backward = true;
  Recipe recipe = tiny_recipe();
  recipe.clip = 1;
  const Plan plan = plan_of(overlapped, recipe);
  const FlatBody body = expand(plan, *plan.body("step"));
  CHECK(std::any_of(body.list.instructions.begin(), body.list.instructions.end(), [&](const Instruction& instruction) {
    return instruction.kind == InstructionKind::kWrite && body.uses(instruction).size() == 3;
  }));
  const auto executor = executor_of(plan, {.drive = {.folder = folder.path()}});
  CHECK(executor->source().find("not whole blocks") == std::string::npos);
}

TEST_CASE("too little room for SSD data is said before the first step") {
  const TemporaryFolder folder;
  Plan plan = plan_of(kOnSsd);
  const SpaceId ssd = *plan.platform.space(SpaceKind::kSsd);
  const Bytes vast = file_system_of(folder.path()).free + kGiB;
  plan.platform.spaces[ssd.index].usable = vast;
  for (Arena& arena : plan.arenas) {
    if (arena.space == ssd) arena.bytes = vast;
  }
  const auto executor = CpuExecutor::create(plan, {.drive = {.folder = folder.path()}});
  REQUIRE_FALSE(executor);
  CHECK(executor.error().kind == ErrorKind::kEnvironment);
  CHECK_THAT(executor.error().text(), Catch::Contains("is free"));
  CHECK(std::filesystem::is_empty(folder.path()));
}

}  // namespace plimsoll
