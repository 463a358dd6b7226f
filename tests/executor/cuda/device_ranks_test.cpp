// Ranks are threads here, each with a device of its own that the host plays.
#include <catch2/catch.hpp>

#include <thread>

#include "executor/cuda/device_executor.h"
#include "executor/cuda/link_plan.h"
#include "sim/planner/lower_to_plan.h"
#include "tests/executor/cuda/emulated_links.h"
#include "tests/ranks/left_by_training.h"
#include "tests/ranks/tiny_job.h"
#include "tests/support/tiny_executor.h"
#include "tests/support/tiny_platform.h"

namespace plimsoll::test {
namespace {

/// A tiny job whose ranks have a GPU each.
RankJob device_job(const JobShape& shape) {
  RankJob job = tiny_job(shape);
  Link between;
  between.latency = Nanoseconds(10'000);
  between.bytes_per_second = 1e9;
  job.platform = rank_platform(tiny_platform(), 1, between);
  return job;
}

std::unique_ptr<DeviceExecutor> executor_on(const Plan& plan, std::shared_ptr<Device> device, DeviceOptions options) {
  options.threads = 1;
  auto executor = DeviceExecutor::create(plan, std::move(device), options);
  if (!executor) FAIL(executor.error().text());
  (*executor)->initialize();
  return std::move(*executor);
}

Left alone(const RankJob& job, std::int64_t steps) {
  auto plan = lower_to_plan(job.spec, job.recipe, tiny_platform(), {}, {});
  if (!plan) FAIL(plan.error().text());
  std::vector<std::unique_ptr<DeviceExecutor>> one;
  one.push_back(executor_on(*plan, std::make_shared<EmulatedDevice>(64 * kMiB), {}));
  const auto trace = one[0]->run_steps({.steps = steps}, kText);
  if (!trace) FAIL(trace.error().text());
  return left_by(*trace, job.spec, one);
}

Left together(const RankJob& job, std::int64_t steps, bool rendezvous, std::uint64_t seed = 0) {
  const std::vector<Plan> plans = plans_of(job);
  const auto links = plan_links(plans);
  if (!links) FAIL(links.error().text());
  LinkHub hub(job.ranks(), rendezvous);
  std::vector<std::shared_ptr<EmulatedDevice>> devices;
  std::vector<std::unique_ptr<EmulatedLinks>> ends;
  std::vector<std::unique_ptr<DeviceExecutor>> executors;
  for (const Plan& plan : plans) {
    devices.push_back(std::make_shared<EmulatedDevice>(64 * kMiB, seed == 0 ? 0 : seed + plan.rank));
    ends.push_back(std::make_unique<EmulatedLinks>(hub, plan.rank, *devices.back()));
    executors.push_back(executor_on(plan, devices.back(), {.jitter_seed = seed == 0 ? 0 : seed + plan.rank,
                                                           .links = ends.back().get(),
                                                           .link_of_queue = links->link_of_queue[plan.rank]}));
  }
  std::vector<Trace> traces(plans.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < plans.size(); ++rank) {
      threads.emplace_back([&, rank] {
        auto trace = executors[rank]->run_steps({.steps = steps}, kText);
        if (trace) traces[rank] = std::move(*trace);
      });
    }
  }
  return left_by(traces[0], job.spec, executors);
}

void check_equal(const JobShape& shape, std::uint64_t seed = 0) {
  INFO(shape.schedule << ", " << shape.ranks << " ranks, " << shape.replicas << " replicas, seed " << seed);
  const RankJob job = device_job(shape);
  const Left one = alone(job, 2), many = together(job, 2, true, seed);
  REQUIRE(one.losses.size() == 2);
  CHECK(many.losses == one.losses);
  CHECK(many.norms == one.norms);
  CHECK(many.states == one.states);
}

}  // namespace

TEST_CASE("a pipeline over devices trains to one device's bits, though its messages have no room on the way") {
  for (const char* schedule : {"1f1b", "interleaved", "zb-h1"})
    check_equal({.schedule = schedule, .ranks = 2, .micro_batches = 2, .layers = 4});
}

TEST_CASE("replicas' devices sum in the order of the ranks, so to one device's bits") {
  check_equal({.schedule = "gpipe", .ranks = 1, .micro_batches = 1, .replicas = 3, .layers = 2});
  check_equal({.schedule = "gpipe", .ranks = 2, .micro_batches = 1, .replicas = 2, .layers = 2});
}

TEST_CASE("whatever a device does late or early, and however long instructions wait, ranks leave the same bits") {
  check_equal({.schedule = "zb-h1", .ranks = 2, .micro_batches = 2, .layers = 4}, 5);
  check_equal({.schedule = "gpipe", .ranks = 1, .micro_batches = 1, .replicas = 2, .layers = 2}, 9);
}

TEST_CASE("ZeRO divides what devices keep, and changes no bit where gradients are not clipped") {
  for (const std::int64_t zero : {1, 2, 3}) {
    INFO("ZeRO-" << zero);
    const RankJob job = device_job(
        {.schedule = "gpipe", .ranks = 1, .micro_batches = 1, .replicas = 2, .zero = zero, .clip = 0, .layers = 2});
    const Left one = alone(job, 2), many = together(job, 2, true);
    CHECK(many.losses == one.losses);
    for (std::size_t i = 0; i < one.states.size(); ++i) {
      const bool divided = i % 3 != 0 || zero == 3;
      const std::size_t size = divided ? (one.states[i].size() / 4 + 1) / 2 * 4 : one.states[i].size();
      REQUIRE(many.states[i].size() == size);
      CHECK(std::equal(many.states[i].begin(), many.states[i].end(), one.states[i].begin()));  // rank 0 has the first part
    }
  }
}

TEST_CASE("a link joins one queue of each of its ranks; a pipeline of two needs one each way, kind and neighbour") {
  const RankJob job = device_job({.schedule = "1f1b", .ranks = 2, .micro_batches = 2, .replicas = 2, .layers = 4});
  const auto plans = plans_of(job);
  const auto links = plan_links(plans);
  if (!links) FAIL(links.error().text());
  for (std::uint32_t rank = 0; rank < plans.size(); ++rank) {
    for (std::uint32_t q = 0; q < plans[rank].platform.queues.size(); ++q) {
      const bool talks = plans[rank].platform.queues[q].kind == QueueKind::kCommunication;
      CAPTURE(rank, plans[rank].platform.queues[q].name);
      REQUIRE(links->link_of_queue[rank][q].has_value() == talks);
      if (!talks) continue;
      const auto& members = links->links[*links->link_of_queue[rank][q]];
      CHECK(std::count(members.begin(), members.end(), rank) == 1);
    }
  }
  // Ranks 0 and 1 are replicas of the first stage, 2 and 3 of the second: sums within each.
  CHECK(std::count(links->links.begin(), links->links.end(), std::vector<std::uint32_t>{0, 1}) >= 1);
  CHECK(std::count(links->links.begin(), links->links.end(), std::vector<std::uint32_t>{2, 3}) >= 1);
  CHECK(std::count(links->links.begin(), links->links.end(), std::vector<std::uint32_t>{0, 2}) >= 2);  // there and back
}

TEST_CASE("a device's plan of several ranks is refused where the process is another, or has no links") {
  const std::vector<Plan> plans = plans_of(device_job({.layers = 4}));
  const auto device = std::make_shared<EmulatedDevice>(64 * kMiB);
  LinkHub hub(2, false);
  EmulatedLinks end(hub, 0, *device);
  const auto wrong = DeviceExecutor::create(plans[1], device, {.threads = 1, .links = &end});
  REQUIRE(!wrong);
  CHECK(wrong.error().what == "the plan is of rank 1 of 2, and this process is rank 0 of 2");
  CHECK(!DeviceExecutor::create(plans[1], device, {.threads = 1}));
}

TEST_CASE("a device's plan of a pipeline without a flush is refused: no device fills one") {
  for (const auto& [schedule, clip] : {std::pair("pipedream", 0.0), std::pair("2bw", 1.0)}) {
    INFO(schedule);
    RankJob job = device_job({.schedule = schedule, .micro_batches = 2, .clip = clip, .layers = 4});
    job.recipe.accumulate = micro_batches_of_step(job.schedule);
    const std::vector<Plan> plans = plans_of(job);
    const auto device = std::make_shared<EmulatedDevice>(64 * kMiB);
    LinkHub hub(2, false);
    EmulatedLinks end(hub, 0, *device);
    const auto made = DeviceExecutor::create(plans[0], device, {.threads = 1, .links = &end});
    REQUIRE(!made);
    CHECK(made.error().what == "the CUDA backend cannot run pipelines without a flush");
  }
}

}  // namespace plimsoll::test
