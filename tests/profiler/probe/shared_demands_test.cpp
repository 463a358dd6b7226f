#include "profiler/probe/shared_demands.h"

#include <catch2/catch.hpp>

#include "profiler/probe/this_computer.h"
#include "sim/des/fair_share.h"

using namespace plimsoll;

namespace {

ThisComputer cores(std::int64_t count) {
  return {.cpu_model = "Test CPU",
          .logical_cores = count,
          .physical_cores = count,
          .mhz = 2500,
          .memory_total = 20 * kGiB,
          .memory_available = 16 * kGiB};
}

MachineProbe probe_of(std::int64_t workers, PairSlowdown product, PairSlowdown optimizer) {
  MachineProbe probe{.cpu_model = "Test CPU", .workers = workers, .date = "2026-01-31T12:00:00Z"};
  probe.memory = {.read = {40e9, 38e9, 41e9, 9},
                  .copy_traffic = {32e9, 30e9, 33e9, 9},
                  .copy = {8e9, 7e9, 9e9, 9},
                  .copy_latency = Nanoseconds(100),
                  .product = product,
                  .optimizer = optimizer};
  return probe;
}

/// How much longer work of each of two queues takes beside the other, by the simulator's shares: what a queue holds,
/// and for a copy also its link's path at the link's rate.
std::pair<double, double> slowdowns(const Platform& platform, std::string_view work, std::string_view copy) {
  std::vector<Demand> of_copy = platform.at(*platform.queue(copy)).demands;
  for (const Demand& demand : platform.links[0].path) {
    of_copy.push_back({demand.resource, demand.amount * platform.links[0].bytes_per_second});
  }
  const Queue& queue = platform.at(*platform.queue(work));
  const std::vector<Activity> activities{{queue.demands, queue.weight},
                                         {of_copy, platform.at(*platform.queue(copy)).weight}};
  std::vector<double> speeds(2);
  FairShare(platform.resources).solve(activities, speeds);
  return {1 / speeds[0], 1 / speeds[1]};
}

Platform platform_of(std::int64_t count, const MachineProbe& probe, std::int64_t threads) {
  const auto described = computer_platform(cores(count), {.threads = threads, .probe = &probe});
  REQUIRE(described);
  return described->platform;
}

}  // namespace

TEST_CASE("equal turns of two workers and a copy on two cores give the demands that were assumed") {
  // 2 of 2 cores and 1: each at 2/3, so 1.5 times as long. Copy: 1.5 · (2 − 2/1.5) = 1 core, weight 1.
  const auto demands =
      measured_demands(probe_of(2, {.work = 1.5, .copy = 1.5}, {.work = 1.5, .copy = 1.5}).memory, 2, 2);
  CHECK(demands.compute_cores == Approx(2));
  CHECK(demands.copy_cores == Approx(1));
  CHECK(demands.cpu_cores == Approx(2));
  CHECK(demands.copy_weight == Approx(1));
}

TEST_CASE("the platform slows pairs as they were measured, on cores that are short") {
  for (const auto& [product, optimizer] : {std::pair{PairSlowdown{1.5, 2.6}, PairSlowdown{1.6, 2.5}},
                                           std::pair{PairSlowdown{1.2, 1.9}, PairSlowdown{1.3, 1.7}},
                                           std::pair{PairSlowdown{2.0, 2.0}, PairSlowdown{1.5, 3.0}}}) {
    const MachineProbe probe = probe_of(2, product, optimizer);
    const Platform platform = platform_of(2, probe, 2);
    const auto [work, copy] = slowdowns(platform, "compute", "h2d");
    CHECK(work == Approx(product.work));
    CHECK(copy == Approx(product.copy));
    const auto [of_optimizer, beside_optimizer] = slowdowns(platform, "cpu", "d2h");
    // No queue asks for more than all cores, which may leave the optimizer a little faster than it was.
    CHECK(of_optimizer == Approx(optimizer.work).epsilon(0.05));
    CHECK(beside_optimizer == Approx(optimizer.copy).epsilon(0.05));
  }
}

TEST_CASE("the platform slows pairs as they were measured, through DRAM where a core is to spare") {
  const MachineProbe probe = probe_of(4, {.work = 1.1, .copy = 1.4}, {.work = 1.3, .copy = 1.6});
  const Platform platform = platform_of(8, probe, 4);
  const auto [work, copy] = slowdowns(platform, "compute", "h2d");
  CHECK(work == Approx(1.1));
  CHECK(copy == Approx(1.4));
  const auto [optimizer, beside] = slowdowns(platform, "cpu", "h2d");
  CHECK(optimizer == Approx(1.3));
  CHECK(beside == Approx(1.6));
}

TEST_CASE("a pair slower together than in turns is taken to be as fast as in turns") {
  // 1/2 + 1/6 = 2/3 of the speed of one alone; times 2/3: 4/3 and 4, together exactly 1.
  const MachineProbe probe = probe_of(2, {.work = 2, .copy = 6}, {.work = 2, .copy = 2});
  const auto [work, copy] = slowdowns(platform_of(2, probe, 2), "compute", "h2d");
  CHECK(work == Approx(4.0 / 3.0));
  CHECK(copy == Approx(4.0));
}

TEST_CASE("pairs that nobody slowed leave every queue its cores") {
  const MachineProbe probe = probe_of(4, {}, {});
  const auto [work, copy] = slowdowns(platform_of(8, probe, 4), "compute", "h2d");
  CHECK(work == 1.0);
  CHECK(copy == 1.0);
}

TEST_CASE("a probed platform has the measured rates and says when they were measured") {
  const MachineProbe probe = probe_of(2, {1.5, 1.5}, {1.5, 1.5});
  const auto described = computer_platform(cores(2), {.probe = &probe});
  REQUIRE(described);
  CHECK(described->platform.resources[0].capacity == 40e9);
  CHECK(described->platform.links[0].bytes_per_second == 8e9);
  CHECK(described->platform.links[0].latency == Nanoseconds(100));
  CHECK(described->defaults.back() == "40.0 GB/s DRAM measured by plimsoll machines --probe on 2026-01-31T12:00:00Z");
  // The pairs are of two workers: one worker and a copy on two cores are not slowed.
  const auto [work, copy] = slowdowns(platform_of(2, probe, 1), "compute", "h2d");
  CHECK(work == 1.0);
  CHECK(copy == 1.0);
}
