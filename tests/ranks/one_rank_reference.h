#pragma once

#include <catch2/catch.hpp>

#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "executor/cpu/cpu_executor.h"
#include "sim/planner/lower_to_plan.h"
#include "sim/planner/ranks/stage_cut.h"
#include "tests/ranks/tiny_job.h"
#include "tests/support/thread_transport.h"
#include "tests/support/tiny_executor.h"

namespace plimsoll::test {

using Weights = std::vector<std::vector<float>>;  ///< by group

inline std::vector<float> floats_of(std::span<const std::byte> bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

/// One rank that answers with the loss of a step, and with the weights that one step of SGD makes of those given.
class OneRank {
 public:
  explicit OneRank(const RankJob& job) : groups_(lay_out_parameters(job.spec).groups.size()) {
    auto plan = lower_to_plan(job.spec, job.recipe, tiny_machine(1), {});
    if (!plan) FAIL(plan.error().text());
    executor_ = executor_of(*plan);
  }
  [[nodiscard]] Weights weights() const {
    Weights all;
    for (std::size_t g = 0; g < groups_; ++g)
      all.push_back(floats_of(executor_->state(TensorKind::kParameter, GroupId(g))));
    return all;
  }
  double step(std::int64_t step, const Weights& at, const BatchSource& batches = kText) {
    for (std::size_t g = 0; g < groups_; ++g) {
      executor_->set_state(TensorKind::kParameter, GroupId(g),
                           [&](std::span<std::byte> place) { std::memcpy(place.data(), at[g].data(), place.size()); });
    }
    return train(*executor_, step, 1, batches).front();
  }

 private:
  std::size_t groups_;
  std::unique_ptr<CpuExecutor> executor_;
};

inline StageCut cut_of(const RankJob& job) {
  const Graph graph = build_training_graph(job.spec, job.recipe);
  return job.stage_blocks.empty() ? cut_into_stages(graph, job.schedule.stages)
                                  : cut_into_stages(graph, job.stage_blocks);
}

struct Left {
  std::vector<double> losses;
  Weights weights;
};

/// What the ranks make of them. `stretch`: steps that run without a pause; a pause fills nothing.
inline Left by_ranks(const RankJob& job, const std::vector<std::int64_t>& rows, std::int64_t stretch = 100,
                     std::uint64_t jitter = 0) {
  const std::vector<Plan> plans = plans_of(job);
  ThreadHub hub(job.ranks(), true);
  std::vector<std::unique_ptr<CpuExecutor>> executors;
  for (const Plan& plan : plans) {
    executors.push_back(
        executor_of(plan, {.jitter_seed = jitter == 0 ? 0 : jitter + plan.rank, .transport = &hub.at(plan.rank)}));
  }
  Left left;
  const auto work = [&](std::size_t rank) {
    std::int64_t done = 0;
    for (const std::int64_t steps : rows) {
      for (std::int64_t at = 0; at < steps; at += stretch) {
        const std::int64_t count = std::min(stretch, steps - at);
        const auto trace = executors[rank]->run_steps(
            {.first_step = done, .steps = count, .fills = at == 0, .on_step = {}, .stop = nullptr}, kText);
        done += count;
        if (!trace) throw std::runtime_error(trace.error().text());
        if (rank == 0) {
          for (const StepSummary& step : trace->steps) left.losses.push_back(step.loss);
        }
        if (at + stretch < steps) (void)executors[rank]->evaluate(kText, 2);
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < plans.size(); ++rank) threads.emplace_back(work, rank);
  }
  const StageCut cut = cut_of(job);
  for (std::size_t g = 0; g < cut.stage_of_group.size(); ++g) {
    const auto& owner = executors[job.rank_at(cut.stage_of_group[g], 0, 0)];
    left.weights.push_back(floats_of(owner->state(TensorKind::kParameter, GroupId(g))));
  }
  for (const auto& executor : executors) CHECK(executor->check_touched());
  return left;
}

/// The reference forms w − ν g as w + ((w' − ν g) − w'), which rounds twice more: 2⁻²⁴ of a weight each.
inline void check_same(const Left& found, const Left& expected) {
  REQUIRE(found.losses.size() == expected.losses.size());
  CHECK(found.losses[0] == expected.losses[0]);
  for (std::size_t i = 0; i < found.losses.size(); ++i)
    CHECK(found.losses[i] == Approx(expected.losses[i]).epsilon(2e-6));
  double furthest = 0;
  for (std::size_t g = 0; g < found.weights.size(); ++g) {
    REQUIRE(found.weights[g].size() == expected.weights[g].size());
    for (std::size_t i = 0; i < found.weights[g].size(); ++i)
      furthest = std::max(furthest, std::abs(double{found.weights[g][i]} - expected.weights[g][i]));
  }
  CHECK(furthest < 2e-6);
}

inline double distance(const Weights& a, const Weights& b) {
  double furthest = 0;
  for (std::size_t g = 0; g < a.size(); ++g) {
    for (std::size_t i = 0; i < a[g].size(); ++i) furthest = std::max(furthest, std::abs(double{a[g][i]} - b[g][i]));
  }
  return furthest;
}

}  // namespace plimsoll::test
