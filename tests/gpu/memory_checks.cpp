#include <algorithm>
#include <chrono>
#include <cmath>

#include "formats/models/resolve_model.h"
#include "tests/gpu/device_plans.h"
#include "tests/support/tiny_training.h"

// What the driver sees, and what is refused.
namespace plimsoll::gpu {
namespace {

const RepeatedText kCorpus("the quick brown fox jumps over the lazy dog. ", 1 << 20);

Recipe language_recipe() {
  return {.precision = Precision::kBf16Mixed, .micro_batch = 1, .sequence = 512, .learning_rate = 1e-4};
}

Bytes used(const Bench& bench) {
  const DeviceInfo info = bench.device()->info();
  return info.total - info.free;
}

/// The arena of the device, and what its executor says that it keeps beside.
void peak(Bench& bench) {
  const ModelSpec spec = taken(resolve_model("gpt2"));
  for (const Strategy& strategy : {strategies().front(), strategies()[7]}) {
    const Plan plan = plan_for(machine_of(bench), spec, language_recipe(), strategy);
    const Bytes before = used(bench);
    const auto executor = executor_on(bench, plan);
    taken(executor->run_steps({.first_step = 0, .steps = 2, .first_traced_step = 2}, kCorpus));
    const Bytes predicted = plan.arena_bytes(*plan.platform.space(SpaceKind::kDevice)) + executor->reserved_beside();
    const double off = std::abs(static_cast<double>((used(bench) - before - predicted).count));
    const double allowed = std::max(0.01 * static_cast<double>(predicted.count), static_cast<double>(100 * kMiB.count));
    bench.add(strategy.name, off / static_cast<double>(kMiB.count), off <= allowed, "MiB off, of " + to_text(predicted));
  }
}

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point begin, Clock::time_point end) { return std::chrono::duration<double>(end - begin).count(); }

double to_gib(Bytes bytes) { return static_cast<double>(bytes.count) / static_cast<double>(kGiB.count); }

/// A card of 5.4 GiB trains 1.5 billion parameters.
void cap(Bench& bench) {
  const Bytes small(static_cast<std::int64_t>(5.4 * static_cast<double>(kGiB.count)));
  const ModelSpec spec = taken(resolve_model("gpt2-xl"));
  MachineOptions capped = usual_machine();
  capped.device_memory = small;
  const Platform machine = machine_of(bench, capped);
  const Plan plan = plan_for(machine, spec, language_recipe(), strategies()[7]);
  const Bytes before = used(bench);
  const auto begin = Clock::now();
  const auto executor = taken(DeviceExecutor::create(plan, bench.device(), {.backend = "cuda"}));
  const auto taken_at = Clock::now();
  executor->initialize();
  const auto made_at = Clock::now();
  const Trace trace = taken(executor->run_steps({.first_step = 0, .steps = 3, .first_traced_step = 3}, kCorpus));
  const Bytes taken_bytes = used(bench) - before;
  const bool fits = taken_bytes <= small + 100 * kMiB && std::isfinite(trace.steps.back().loss);
  bench.add("gpt2-xl in 5.4 GiB", to_gib(taken_bytes), fits, "GiB",
            {{"start_seconds", seconds_between(begin, taken_at)},
             {"weights_seconds", seconds_between(taken_at, made_at)},
             {"step_seconds", to_seconds(trace.steps.back().duration())}});
}

void refusal(Bench& bench) {
  const Plan plan = plan_for(machine_of(bench), taken(resolve_model("gpt2")), language_recipe(), {});
  const Bytes leave = plan.arena_bytes(*plan.platform.space(SpaceKind::kDevice)) - 64 * kMiB;
  const Bytes free = bench.device()->info().free;
  std::byte* taken_by_another = bench.device()->reserve(free - leave);
  const auto refused = DeviceExecutor::create(plan, bench.device(), {.backend = "cuda"});
  bench.device()->release(taken_by_another);
  const bool named = !refused && refused.error().text().find("bytes are missing") != std::string::npos;
  bench.add("", named ? 1 : 0, named, refused ? "it started" : refused.error().text());
}

}  // namespace

std::vector<Check> memory_checks() {
  return {{"peak", "driver's and predicted peak within 1 % or 100 MiB", peak},
          {"memory-cap", "within the cap and 100 MiB, finite losses", cap, 120},
          {"refusal", "a plan that cannot start says how many bytes are missing", refusal}};
}

}  // namespace plimsoll::gpu
