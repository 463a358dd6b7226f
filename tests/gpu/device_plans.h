#pragma once

#include <stdexcept>

#include "executor/cuda/device_executor.h"
#include "formats/machines/catalogue_platform.h"
#include "sim/planner/lower_to_plan.h"
#include "tests/gpu/check.h"

namespace plimsoll::gpu {

/// What `result` holds, or its error as an exception that breaks the check.
template <typename T>
T taken(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().text());
  return std::move(*result);
}

constexpr int kWorkers = 8;  ///< of the CPU

/// What is around the bench's board.
inline MachineOptions usual_machine() { return {.ram = 64 * kGiB, .ssd = 24 * kGiB, .cpu_cores = kWorkers}; }

inline Platform machine_of(const Bench& bench, const MachineOptions& options = usual_machine()) {
  return taken(gpu_platform(bench.board(), options)).platform;
}

/// With a drive that reaches the board.
inline Platform machine_with_direct_storage(const Bench& bench) {
  MachineOptions options = usual_machine();
  options.direct_storage = true;
  return machine_of(bench, options);
}

inline Plan plan_for(const Platform& machine, const ModelSpec& spec, const Recipe& recipe, const Strategy& strategy) {
  return taken(lower_to_plan(spec, recipe, machine, strategy, {.evaluation = true}));
}

inline std::unique_ptr<DeviceExecutor> executor_on(const Bench& bench, const Plan& plan, std::uint64_t jitter = 0) {
  auto executor = taken(DeviceExecutor::create(plan, bench.device(), {.jitter_seed = jitter, .backend = "cuda", .drive = {.folder = "/tmp"}}));
  executor->initialize();
  return executor;
}

inline std::vector<double> losses_of(const Trace& trace) {
  std::vector<double> losses;
  for (const StepSummary& step : trace.steps) losses.push_back(step.loss);
  return losses;
}

/// Strategies that differ in every choice of time and place.
inline std::vector<Strategy> strategies() {
  return {{.name = "resident"},
          {.name = "resident, recomputed", .recompute_every = 1},
          {.name = "every second block recomputed", .recompute_every = 2},
          {.name = "gradients to the host", .optimizer = Tier::kHost, .gradients = Tier::kHost},
          {.name = "optimizer on the host", .optimizer = Tier::kHost},
          {.name = "optimizer on the host, in order", .recompute_every = 2, .optimizer = Tier::kHost, .overlap = false},
          {.name = "recomputed, optimizer on the host", .recompute_every = 1, .optimizer = Tier::kHost, .gradients = Tier::kHost},
          {.name = "streamed", .recompute_every = 1, .parameters = Tier::kHost, .optimizer = Tier::kHost, .gradients = Tier::kHost},
          {.name = "streamed, in order", .recompute_every = 1, .parameters = Tier::kHost, .optimizer = Tier::kHost,
           .gradients = Tier::kHost, .overlap = false},
          {.name = "streamed, two slots", .recompute_every = 1, .parameters = Tier::kHost, .optimizer = Tier::kHost,
           .gradients = Tier::kHost, .staging_slots = 2},
          {.name = "on the drive", .optimizer = Tier::kSsd, .gradients = Tier::kHost},
          {.name = "on the drive, two slots", .optimizer = Tier::kSsd, .gradients = Tier::kHost, .staging_slots = 2}};
}

}  // namespace plimsoll::gpu
