#pragma once

#include <catch2/catch.hpp>
#include <vector>

#include "core/plan/verify_plan.h"
#include "executor/cpu/cpu_executor.h"
#include "sim/planner/lower_to_plan.h"
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

}  // namespace plimsoll
