#pragma once

#include <catch2/catch.hpp>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "executor/checkpoint/training_state.h"
#include "executor/collectives/job_executor.h"
#include "sim/planner/lower_to_plan.h"
#include "tests/ranks/tiny_job.h"
#include "tests/support/thread_transport.h"
#include "tests/support/tiny_executor.h"

namespace plimsoll::test {

inline std::vector<double> losses_of(Executor& executor, std::int64_t first, std::int64_t steps) {
  auto trace = executor.run_steps({.first_step = first, .steps = steps}, kText);
  if (!trace) FAIL(trace.error().text());
  std::vector<double> losses;
  for (const StepSummary& step : trace->steps) losses.push_back(step.loss);
  return losses;
}

/// Calls `lead` with the ranks of `job` as one executor. With `jitter`, instructions wait at random before they start.
template <typename Lead>
void on_ranks(const RankJob& job, const Lead& lead, std::uint64_t jitter = 0) {
  const std::vector<Plan> plans = test::plans_of(job);
  test::ThreadHub hub(job.ranks());
  std::vector<std::unique_ptr<CpuExecutor>> own;
  for (const Plan& plan : plans) {
    const std::uint64_t seed = jitter == 0 ? 0 : jitter + plan.rank;
    own.push_back(executor_of(plan, {.jitter_seed = seed, .transport = &hub.at(plan.rank)}));
  }
  std::vector<std::jthread> others;
  for (std::uint32_t rank = 1; rank < plans.size(); ++rank) {
    others.emplace_back([&, rank] {
      JobExecutor team(plans, *own[rank], hub.at(rank));
      if (!team.serve(kText, &kText)) std::terminate();
    });
  }
  JobExecutor team(plans, *own[0], hub.at(0));
  try {
    lead(team);
  } catch (...) {  // a test that failed
    team.end();
    throw;
  }
  team.end();
}

template <typename Lead>
void alone(const RankJob& job, const Lead& lead) {
  auto plan = lower_to_plan(job.spec, job.recipe, tiny_machine(1), {}, {.evaluation = true});
  if (!plan) FAIL(plan.error().text());
  const auto executor = executor_of(*plan);
  lead(*executor);
}

inline void save(const std::string& path, const RankJob& job, const Executor& executor, std::int64_t done) {
  const auto saved = save_training_state(path, job.spec, job.recipe, done,
                                         [&](TensorKind kind, GroupId group) { return executor.state(kind, group); });
  if (!saved) FAIL(saved.error().text());
}

inline void load(const std::string& path, const RankJob& job, Executor& executor) {
  const auto loaded = load_training_state(
      path, job.spec, job.recipe,
      [&](TensorKind kind, GroupId group, const FillState& fill) { executor.set_state(kind, group, fill); });
  if (!loaded) FAIL(loaded.error().text());
}

}  // namespace plimsoll::test
