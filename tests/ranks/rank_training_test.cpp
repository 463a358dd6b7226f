// Ranks are threads here: what a rank's plan computes does not depend on how bytes travel.
#include <catch2/catch.hpp>

#include <thread>

#include "executor/cpu/cpu_executor.h"
#include "sim/planner/lower_to_plan.h"
#include "tests/ranks/left_by_training.h"
#include "tests/ranks/tiny_job.h"
#include "tests/support/thread_transport.h"
#include "tests/support/tiny_executor.h"

namespace plimsoll {
namespace {

using test::JobShape;
using test::Left;

Left alone(const RankJob& job, std::int64_t steps) {
  auto plan = lower_to_plan(job.spec, job.recipe, tiny_machine(1), {});
  if (!plan) FAIL(plan.error().text());
  std::vector<std::unique_ptr<CpuExecutor>> one;
  one.push_back(executor_of(*plan));
  return test::left_by(trace_of(*one[0], 0, steps), job.spec, one);
}

Left together(const RankJob& job, std::int64_t steps, bool rendezvous = true, std::uint64_t jitter = 0) {
  const std::vector<Plan> plans = test::plans_of(job);
  test::ThreadHub hub(job.ranks(), rendezvous);
  std::vector<std::unique_ptr<CpuExecutor>> executors;
  for (const Plan& plan : plans) {
    executors.push_back(
        executor_of(plan, {.jitter_seed = jitter == 0 ? 0 : jitter + plan.rank, .transport = &hub.at(plan.rank)}));
  }
  std::vector<Trace> traces(plans.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < plans.size(); ++rank) {
      threads.emplace_back([&, rank] {
        auto trace = executors[rank]->run_steps({.steps = steps, .on_step = {}, .stop = nullptr}, kText);
        if (trace) traces[rank] = std::move(*trace);
      });
    }
  }
  for (const auto& executor : executors) CHECK(executor->check_touched());
  return test::left_by(traces[0], job.spec, executors);
}

void check_equal(const JobShape& shape) {
  INFO(shape.schedule << ", " << shape.ranks << " ranks, " << shape.micro_batches << " micro-batches, " << shape.replicas
                      << " replicas");
  const RankJob job = test::tiny_job(shape);
  const Left one = alone(job, 3), many = together(job, 3);
  REQUIRE(one.losses.size() == 3);
  CHECK(many.losses == one.losses);
  CHECK(many.norms == one.norms);
  CHECK(many.states == one.states);
}

}  // namespace

TEST_CASE("a pipeline's losses, norms, weights and moments are, bit for bit, those of one rank") {
  for (const char* schedule : {"gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "zb-v", "v-half", "dualpipe-v", "hanayo"}) {
    check_equal({.schedule = schedule, .ranks = 2, .micro_batches = 4});
  }
  for (const char* schedule : {"1f1b", "interleaved", "zb-h1"})
    check_equal({.schedule = schedule, .ranks = 4, .micro_batches = 8});
}

TEST_CASE("so are those of an untied, rotary model, and of one micro-batch a step") {
  for (const char* schedule : {"1f1b", "zb-h1"}) {
    check_equal({.schedule = schedule, .ranks = 2, .family = Family::kLlama});
    check_equal({.schedule = schedule, .ranks = 2, .micro_batches = 2});
  }
  check_equal({.schedule = "gpipe", .ranks = 2, .micro_batches = 1});
}

TEST_CASE("so are those of a tied head whose logits lie in rows wider than the vocabulary") {
  for (const char* schedule : {"1f1b", "zb-h1", "interleaved"}) check_equal({.schedule = schedule, .ranks = 2, .vocabulary = 2007});
  check_equal({.schedule = "gpipe", .ranks = 2, .micro_batches = 1, .vocabulary = 2007});
  check_equal({.schedule = "gpipe", .ranks = 1, .micro_batches = 1, .replicas = 2, .vocabulary = 2007});
}

TEST_CASE("replicas of one micro-batch each sum as one rank does") {
  check_equal({.schedule = "gpipe", .ranks = 1, .micro_batches = 1, .replicas = 2});
  check_equal({.schedule = "gpipe", .ranks = 1, .micro_batches = 1, .replicas = 4});
  check_equal({.schedule = "gpipe", .ranks = 2, .micro_batches = 1, .replicas = 2});
}

TEST_CASE("replicas of several micro-batches differ from one rank by the order of the sum alone") {
  const RankJob job = test::tiny_job({.ranks = 2, .micro_batches = 2, .replicas = 2});
  const Left one = alone(job, 4), many = together(job, 4);
  CHECK(many.losses[0] == one.losses[0]);
  for (std::size_t i = 1; i < 4; ++i) CHECK(many.losses[i] == Approx(one.losses[i]).epsilon(1e-5));
  const Left flat = together(test::tiny_job({.schedule = "gpipe", .ranks = 1, .micro_batches = 2, .replicas = 2}), 4);
  CHECK(many == flat);  // the pipeline changes nothing
}

TEST_CASE("ZeRO changes no bit where gradients are not clipped, and keeps parts of what it divides on each rank") {
  for (const std::int64_t zero : {1, 2, 3}) {
    INFO("ZeRO-" << zero);
    const RankJob job =
        test::tiny_job({.schedule = "gpipe", .ranks = 1, .micro_batches = 1, .replicas = 2, .zero = zero, .clip = 0});
    const Left one = alone(job, 3), many = together(job, 3);
    CHECK(many.losses == one.losses);
    for (std::size_t i = 0; i < one.states.size(); ++i) {
      const bool divided = i % 3 != 0 || zero == 3;  // moments, and in the end weights
      const std::size_t size = divided ? (one.states[i].size() / 4 + 1) / 2 * 4 : one.states[i].size();
      REQUIRE(many.states[i].size() == size);
      CHECK(std::equal(many.states[i].begin(), many.states[i].end(), one.states[i].begin()));  // rank 0 has the first part
    }
  }
}

TEST_CASE("ZeRO with clipping stays within rounding of one rank, over a pipeline too") {
  for (const std::int64_t zero : {1, 2, 3}) {
    for (const char* schedule : {"1f1b", "zb-h1"}) {
      INFO("ZeRO-" << zero << " " << schedule);
      const RankJob job = test::tiny_job({.schedule = schedule, .ranks = 2, .micro_batches = 2, .replicas = 2, .zero = zero});
      const Left one = alone(job, 4), many = together(job, 4);
      CHECK(many.losses[0] == one.losses[0]);
      for (std::size_t i = 0; i < 4; ++i) {
        CHECK(many.losses[i] == Approx(one.losses[i]).epsilon(1e-5));
        CHECK(many.norms[i] == Approx(one.norms[i]).epsilon(1e-5));
      }
    }
  }
}

TEST_CASE("random delays on all ranks change no bit") {
  const RankJob job = test::tiny_job({.schedule = "zb-h1", .ranks = 4, .micro_batches = 4});
  const Left calm = together(job, 2, false);
  for (const std::uint64_t seed : {11u, 23u}) CHECK(together(job, 2, true, seed) == calm);
}

TEST_CASE("a plan of one rank is refused where the process is another") {
  const std::vector<Plan> plans = test::plans_of(test::tiny_job({}));
  test::ThreadHub hub(2);
  const auto wrong = CpuExecutor::create(plans[1], {.transport = &hub.at(0)});
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().what == "the plan is of rank 1 of 2, and this process is rank 0 of 2");
  CHECK_FALSE(CpuExecutor::create(plans[1], {}));
}

}  // namespace plimsoll
