// Law five for an encoder with a decoder, whose blocks share the encoder's output and the biases of distances.
#include <catch2/catch.hpp>

#include "core/plan/verify_plan.h"
#include "executor/cpu/cpu_executor.h"
#include "executor/data/source_and_target.h"
#include "sim/planner/lower_to_plan.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_training.h"

namespace plimsoll {
namespace {

ModelSpec tiny_t5(bool tied) {
  ModelSpec spec = tiny_spec(Family::kT5);
  spec.layers = 3;
  spec.decoder_layers = 2;
  spec.relative_buckets = 8;
  spec.tied_head = tied;
  if (!tied) spec.activation = ActivationKind::kGeGluTanh;
  return spec;
}

/// A target of another length than the source.
Recipe recipe_of(std::int64_t accumulate) {
  Recipe recipe = tiny_recipe();
  recipe.accumulate = accumulate;
  recipe.target_sequence = 11;
  return recipe;
}

const SourceAndTarget kText(std::make_unique<RepeatedText>("the quick brown fox jumps. "));

std::unique_ptr<CpuExecutor> executor_of(const Plan& plan, const CpuOptions& options) {
  auto executor = CpuExecutor::create(plan, options);
  if (!executor) FAIL(executor.error().text());
  (*executor)->initialize();
  return std::move(*executor);
}

std::vector<double> losses_of(CpuExecutor& executor, std::int64_t first, std::int64_t steps) {
  const auto trace =
      executor.run_steps({.first_step = first, .steps = steps, .first_traced_step = first + steps}, kText);
  if (!trace) FAIL(trace.error().text());
  std::vector<double> losses;
  for (const StepSummary& step : trace->steps) losses.push_back(step.loss);
  return losses;
}

std::vector<double> losses_of(const Plan& plan, const CpuOptions& options, std::int64_t steps = 3) {
  const auto executor = executor_of(plan, options);
  std::vector<double> losses = losses_of(*executor, 0, steps);
  CHECK(executor->check_touched());
  return losses;
}

Plan plan_of(const Strategy& strategy, const ModelSpec& spec, const Recipe& recipe) {
  auto plan = lower_to_plan(spec, recipe, tiny_machine(), strategy, {.evaluation = true});
  if (!plan) FAIL(plan.error().text());
  const auto verified = verify_plan(*plan);
  if (!verified) FAIL(verified.error().text());
  return std::move(*plan);
}

/// Segments that end within a stack and across both, and every kind of data in every tier.
std::vector<Strategy> strategies() {
  constexpr Tier kHost = Tier::kHost, kSsd = Tier::kSsd;
  std::vector<Strategy> all{
      {.name = "recompute", .recompute_every = 1},
      {.name = "segments of both stacks", .recompute_every = 2},
      {.name = "one segment", .recompute_every = 5},
      {.name = "best kept", .recompute_every = 1, .kept_outputs = 3},
      {.name = "optimizer away", .optimizer = kHost, .gradients = kHost},
      {.name = "optimizer on the drive", .optimizer = kSsd, .gradients = kSsd, .staging_slots = 3},
      {.name = "in backward", .optimizer = kHost, .gradients = kHost, .update_in_backward = true},
      {.name = "weights away", .parameters = kHost, .optimizer = kHost},
      {.name = "some weights away", .parameters = kHost, .device_parameter_blocks = 2, .optimizer = kHost},
      {.name = "all on the drive", .recompute_every = 2, .parameters = kSsd, .optimizer = kSsd, .gradients = kSsd},
      {.name = "activations away", .activations = kHost, .activation_blocks = 5},
      {.name = "activations of the encoder on the drive", .activations = kSsd, .activation_blocks = 3},
      {.name = "inputs away",
       .recompute_every = 1,
       .activations = kSsd,
       .activation_blocks = 4,
       .host_activation_blocks = 2},
      {.name = "some states stay", .optimizer = kHost, .gradients = kHost, .device_state_blocks = 4},
      {.name = "cautious", .optimizer = kHost, .staging_slots = 1, .overlap = false}};
  const std::size_t depth_first = all.size();
  for (std::size_t i = 0; i < depth_first; ++i) {
    all.push_back(all[i]);
    all.back().loop_order = LoopOrder::kBreadthFirst;
  }
  return all;
}

}  // namespace

TEST_CASE("every plan of an encoder with a decoder has the losses of the resident one, bit for bit") {
  const TemporaryFolder folder;
  std::uint64_t run = 0;
  for (const bool tied : {true, false}) {
    for (const std::int64_t accumulate : {1, 3}) {
      const ModelSpec spec = tiny_t5(tied);
      const Recipe recipe = recipe_of(accumulate);
      const std::vector<double> expected = losses_of(plan_of({}, spec, recipe), {.threads = 1});
      CHECK(expected.front() != expected.back());
      for (const Strategy& strategy : strategies()) {
        CAPTURE(strategy.name, describe(strategy), tied, accumulate);
        const CpuOptions options{.threads = 1 + static_cast<std::int64_t>(run % 2),
                                 .jitter_seed = run % 3 == 0 ? run + 1 : 0,
                                 .drive = {.folder = folder.path(), .way = IoWay::kThreads}};
        CHECK(losses_of(plan_of(strategy, spec, recipe), options) == expected);
        ++run;
      }
    }
  }
}

TEST_CASE("the encoder's output stays on the device while activations that one block reads leave it") {
  const Plan plan = plan_of({.activations = Tier::kHost, .activation_blocks = 5}, tiny_t5(true), recipe_of(1));
  std::size_t outputs = 0, away = 0;
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.category != TensorKind::kActivation || plan.platform.at(buffer.space).kind == SpaceKind::kDevice)
      continue;
    ++away;
    const bool shared = buffer.name.starts_with("encoder output") || buffer.name.starts_with("distance bias");
    outputs += shared ? 1 : 0;
  }
  CHECK(away > 20);
  CHECK(outputs == 0);
}

TEST_CASE("an encoder with a decoder learns to continue a repetitive text, and evaluates without disturbing that") {
  const ModelSpec spec = tiny_t5(true);
  const auto executor = executor_of(plan_of({}, spec, recipe_of(2)), {});
  const auto before = executor->evaluate(kText, 3);
  REQUIRE(before);
  const std::vector<double> losses = losses_of(*executor, 0, 150);
  CHECK(losses.back() < 0.5);
  CHECK(executor->evaluate(kText, 3)->loss < before->loss - 1);
}

TEST_CASE("an encoder with a decoder trains in types of two bytes, near what it does in fp32") {
  for (const Precision precision : {Precision::kBf16Mixed, Precision::kFp16Mixed}) {
    Recipe recipe = recipe_of(1);
    const std::vector<double> wide = losses_of(plan_of({}, tiny_t5(true), recipe), {}, 5);
    recipe.precision = precision;
    const std::vector<double> narrow = losses_of(plan_of({}, tiny_t5(true), recipe), {}, 5);
    for (std::size_t i = 0; i < wide.size(); ++i) CHECK(narrow[i] == Approx(wide[i]).epsilon(0.03));
    CHECK(narrow != wide);
  }
}

}  // namespace plimsoll
