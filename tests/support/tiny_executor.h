#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "executor/cpu/cpu_executor.h"
#include "tests/support/tiny_training.h"

namespace plimsoll {

/// What tiny models learn.
inline const RepeatedText kText("the quick brown fox jumps. ");

/// An executor of `plan` with its first weights, or a failed test with the reason.
inline std::unique_ptr<CpuExecutor> executor_of(const Plan& plan, const CpuOptions& options = {}) {
  auto executor = CpuExecutor::create(plan, options);
  if (!executor) FAIL(executor.error().text());
  (*executor)->initialize();
  return std::move(*executor);
}

/// What the steps from `first` on leave behind, traced.
inline Trace trace_of(CpuExecutor& executor, std::int64_t first, std::int64_t steps, const BatchSource& batches = kText) {
  auto trace = executor.run_steps(
      {.first_step = first, .steps = steps, .first_traced_step = first, .on_step = {}, .stop = nullptr}, batches);
  if (!trace) FAIL(trace.error().text());
  return std::move(*trace);
}

/// Their losses.
inline std::vector<double> train(CpuExecutor& executor, std::int64_t first, std::int64_t steps, const BatchSource& batches = kText) {
  std::vector<double> losses;
  for (const StepSummary& step : trace_of(executor, first, steps, batches).steps) losses.push_back(step.loss);
  return losses;
}

}  // namespace plimsoll
