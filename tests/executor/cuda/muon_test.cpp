// Muon on the device: its programs against the CPU's kernel, and trainings whose blocks the device updates.
#include <catch2/catch.hpp>

#include <cmath>

#include "core/graph/op_work.h"
#include "core/model/next_loss_scale.h"
#include "executor/cuda/check_device_plan.h"
#include "executor/cuda/device_executor.h"
#include "executor/cuda/launch/supports.h"
#include "sim/planner/lower_to_plan.h"
#include "tests/executor/cuda/emulated_device.h"
#include "tests/executor/cuda/emulated_launch.h"
#include "tests/executor/kernels/kernel_case.h"
#include "tests/support/tiny_executor.h"
#include "tests/support/tiny_platform.h"

namespace plimsoll::test {
namespace {

/// `terms` matrices of rows × columns one after another, updated in place with a factor and published.
KernelCase matrices(std::int64_t rows, std::int64_t columns, std::int64_t terms) {
  const std::int64_t elements = terms * rows * columns;
  KernelCase c{"muon", OpKind::kMuon, {.rows = terms * rows, .inputs = columns, .terms = terms}, {}};
  const std::int64_t room = workspace_of(OpKind::kMuon, c.shape, DType::kFp32, 1).count / 4 + 1;
  c.operands = {{elements, Access::kReadWrite, Content::kWide}, {elements, Access::kReadWrite, Content::kWide},
                {elements, Access::kRead},                      {1, Access::kRead, Content::kDouble},
                {elements, Access::kWrite},                     {room, Access::kWrite, Content::kScratch}};
  return c;
}

void emulated(const Kernel& kernel, std::span<const OperandView> operands, const LaunchContext& context) {
  std::vector<std::byte> scratch(static_cast<std::size_t>(cuda::scratch_of(kernel).count) + 1);
  emulate({kernel, operands, context, scratch.data()}, Fibers::Order::kForward);
}

std::vector<double> moved(const Values& before, const Values& after) {
  std::vector<double> difference;
  for (std::size_t i = 0; i < before[0].size(); ++i) difference.push_back(after[0][i] - before[0][i]);
  return difference;
}

Recipe muon_recipe() {
  Recipe recipe = tiny_recipe();
  recipe.optimizer = OptimizerKind::kMuon;
  recipe.precision = Precision::kBf16Mixed;
  return recipe;
}

Plan plan_of(const Strategy& strategy, const Recipe& recipe) {
  auto plan = lower_to_plan(tiny_spec(Family::kLlama), recipe, tiny_platform(), strategy, {.evaluation = true});
  if (!plan) FAIL(plan.error().text());
  return std::move(*plan);
}

std::vector<double> device_losses(const Plan& plan, std::uint64_t seed) {
  auto executor = DeviceExecutor::create(plan, std::make_shared<EmulatedDevice>(64 * kMiB, seed),
                                         {.threads = 2, .jitter_seed = seed, .backend = "emulated"});
  if (!executor) FAIL(executor.error().text());
  (*executor)->initialize();
  const auto trace = (*executor)->run_steps({.first_step = 0, .steps = 3, .first_traced_step = 0}, kText);
  if (!trace) FAIL(trace.error().text());
  std::vector<double> losses;
  for (const StepSummary& step : trace->steps) losses.push_back(step.loss);
  return losses;
}

}  // namespace

TEST_CASE("wide, tall and many matrices move on the device as by the CPU's kernel, to bf16's roundings of the way") {
  for (const KernelCase& c : {matrices(33, 70, 1), matrices(96, 40, 1), matrices(24, 24, 3)}) {
    CAPTURE(c.shape.rows, c.shape.inputs);
    for (const DType dtype : {DType::kFp32, DType::kBf16, DType::kFp16}) {
      const bool halves = dtype != DType::kFp32;
      const Values inputs = halves ? rounded(c, random_values(c), dtype) : random_values(c);
      const Values expected = run_case(c, inputs, dtype), found = run_case(c, inputs, dtype, {.launch = emulated});
      CHECK(relative_distance(found[1], expected[1]) < 1e-6);
      CHECK(relative_distance(moved(inputs, found), moved(inputs, expected)) < 0.01);
      const Values once = {found[0], found[1], found[2], found[3], found[0], {}};
      CHECK(found[4] == (halves ? rounded(c, once, dtype) : once)[4]);  // what is published is rounded once
    }
  }
}

TEST_CASE("a factor that is no number leaves matrices and velocity, whose weights are published, where losses are scaled") {
  KernelCase c = matrices(33, 70, 1);
  c.operands[3].elements = kScaledFactorDoubles;
  Values inputs = rounded(c, random_values(c), DType::kFp16);
  inputs[3] = {std::nan(""), 1, 2, 4096};
  const Values kept = run_case(c, inputs, DType::kFp16, {.precision = Precision::kFp16Mixed, .launch = emulated});
  CHECK(kept[0] == inputs[0]);
  CHECK(kept[1] == inputs[1]);
  CHECK(kept[4] == rounded(c, {kept[0], kept[1], kept[2], kept[3], kept[0], {}}, DType::kFp16)[4]);
}

TEST_CASE("matrices that the device updates give one and the same losses wherever their states wait") {
  for (const double clip : {1.0, 1e-3}) {  // 1e-3 clips every step, so that guesses are redone
    Recipe recipe = muon_recipe();
    recipe.clip = clip;
    const std::vector<double> expected = device_losses(plan_of({}, recipe), 0);
    const std::vector<double> cpu = [&] {
      const auto plan = lower_to_plan(tiny_spec(Family::kLlama), recipe, tiny_machine(), {}, {.evaluation = true});
      return train(*executor_of(*plan), 0, 3);
    }();
    for (std::size_t s = 0; s < cpu.size(); ++s) CHECK(expected[s] == Approx(cpu[s]).epsilon(2e-3));
    std::uint64_t seed = 1;
    for (const bool overlapped : {false, true}) {
      for (const Tier parameters : {Tier::kDevice, Tier::kHost}) {
        for (const Tier optimizer : {Tier::kHost, Tier::kSsd}) {
          const Strategy strategy{.parameters = parameters, .optimizer = optimizer, .gradients = Tier::kHost,
                                  .update_in_backward = overlapped, .device_update_blocks = 2};
          CAPTURE(describe(strategy), clip, seed);
          CHECK(device_losses(plan_of(strategy, recipe), seed++) == expected);
        }
      }
    }
  }
}

TEST_CASE("the CUDA backend names the blocks that a plan leaves to the CPU's muon, whose sums are others") {
  const auto refused = check_device_plan(plan_of({.optimizer = Tier::kHost, .device_update_blocks = 1}, muon_recipe()));
  REQUIRE(!refused);
  CHECK_THAT(refused.error().text(), Catch::Contains("device_update_blocks"));
  CHECK(check_device_plan(plan_of({.optimizer = Tier::kHost, .device_update_blocks = 2}, muon_recipe())));
}

}  // namespace plimsoll::test
