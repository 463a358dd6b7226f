#pragma once

#include <catch2/catch.hpp>
#include <algorithm>
#include <utility>
#include <vector>

#include "core/plan/verify_plan.h"
#include "executor/cpu/cpu_executor.h"
#include "sim/planner/lower_to_plan.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_training.h"

namespace plimsoll {

/// On the tiny machine, and lawful.
inline Plan lawful_plan(const ModelSpec& spec, const Recipe& recipe, const Strategy& strategy) {
  auto lowered = lower_to_plan(spec, recipe, tiny_machine(), strategy);
  if (!lowered) FAIL(lowered.error().text());
  const auto verified = verify_plan(*lowered);
  if (!verified) FAIL(verified.error().text());
  return std::move(*lowered);
}

/// Losses of three steps, which touch no byte outside the plan's buffers.
inline std::vector<double> three_losses(const Plan& plan, const CpuOptions& options) {
  const RepeatedText text("the quick brown fox jumps. ");
  auto executor = CpuExecutor::create(plan, options);
  if (!executor) FAIL(executor.error().text());
  (*executor)->initialize();
  const auto trace = (*executor)->run_steps({.steps = 3, .first_traced_step = 3}, text);
  REQUIRE(trace);
  CHECK((*executor)->check_touched());
  std::vector<double> losses;
  for (const StepSummary& step : trace->steps) losses.push_back(step.loss);
  return losses;
}

/// Law five: each strategy that can be lowered gives the resident plan's losses, at one and two threads in turn, every third under
/// random delays. How many there were.
inline std::uint64_t check_law_five(const ModelSpec& spec, const Recipe& recipe, const std::vector<Strategy>& strategies) {
  const TemporaryFolder folder;
  const std::vector<double> expected = three_losses(lawful_plan(spec, recipe, {}), {.threads = 1});
  std::uint64_t run = 0;
  for (const Strategy& strategy : strategies) {
    if (!check_lowerable(spec, recipe, tiny_machine(), strategy)) continue;  // fp32 whose only copy would be on the drive
    CAPTURE(describe(strategy), spec.name, run, to_text(recipe.precision), recipe.accumulate);
    const CpuOptions options{.threads = 1 + static_cast<std::int64_t>(run % 2), .jitter_seed = run % 3 == 0 ? run + 1 : 0,
                             .drive = {.folder = folder.path(), .way = IoWay::kThreads}};
    CHECK(three_losses(lawful_plan(spec, recipe, strategy), options) == expected);
    ++run;
  }
  return run;
}

inline ModelSpec four_blocks(Family family) {
  ModelSpec spec = tiny_spec(family);
  spec.layers = 4;
  return spec;
}

/// Law five of four blocks in fp32 with two micro-batches, in bf16 without clipping and in fp16 that clips. The fewest that there were.
inline std::uint64_t check_precisions(const std::vector<Strategy>& strategies) {
  Recipe recipe = tiny_recipe();
  std::uint64_t fewest = check_law_five(four_blocks(Family::kGpt2), recipe, strategies);
  recipe.accumulate = 1;
  for (const auto& [precision, clip] : {std::pair(Precision::kBf16Mixed, 0.0), std::pair(Precision::kFp16Mixed, 0.5)}) {
    recipe.precision = precision;
    recipe.clip = clip;
    fewest = std::min(fewest, check_law_five(four_blocks(Family::kLlama), recipe, strategies));
  }
  return fewest;
}

}  // namespace plimsoll
