#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/plan/expand.h"
#include "core/trace/summarize.h"
#include "executor/cuda/device_clock.h"
#include "executor/cuda/event_cost.h"
#include "formats/models/resolve_model.h"
#include "session/probe/copy_trial.h"
#include "tests/gpu/device_plans.h"
#include "tests/gpu/own_seconds.h"
#include "tests/support/tiny_training.h"

namespace plimsoll::gpu {
namespace {

const RepeatedText kCorpus("the quick brown fox jumps over the lazy dog. ", 1 << 20);

constexpr double kSustained = 0.25;  // seconds of each kernel, where nothing else is said

Recipe speed_recipe() { return {.precision = Precision::kBf16Mixed, .micro_batch = 8, .sequence = 1024, .learning_rate = 1e-4}; }

/// Of each kernel the time that a traced step's instructions have, in the median, as calibration hears it.
std::map<std::uint32_t, double> traced_seconds(const Plan& plan, const Trace& trace) {
  const FlatBody body = expand(plan, *plan.body("step"));
  std::map<std::uint32_t, std::vector<double>> all;
  for (const TraceEvent& event : trace.events) {
    const Instruction& instruction = body.list.instructions[event.instruction];
    if (instruction.kind == InstructionKind::kLaunch) all[instruction.kernel.index].push_back(to_seconds(event.end - event.start));
  }
  std::map<std::uint32_t, double> medians;
  for (auto& [kernel, seconds] : all) {
    std::nth_element(seconds.begin(), seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2), seconds.end());
    medians[kernel] = seconds[seconds.size() / 2];
  }
  return medians;
}

void resident(Bench& bench) {
  const Plan plan = plan_for(machine_of(bench), taken(resolve_model("gpt2")), speed_recipe(), {});
  double step = 0;
  std::map<std::uint32_t, double> traced;
  {
    const auto executor = executor_on(bench, plan);
    step = to_seconds(median_step(taken(executor->run_steps({.first_step = 0, .steps = 12, .first_traced_step = 12}, kCorpus)), 1));
    traced = traced_seconds(plan, taken(executor->run_steps({.first_step = 12, .steps = 4, .first_traced_step = 13}, kCorpus)));
  }
  const double each = sustained_for(kSustained);
  const OwnSeconds own = own_seconds(bench, plan, kCorpus, each);
  const double tokens = static_cast<double>(plan.recipe.tokens_per_step()) / step;
  bench.add("gpt2 step over its kernels' own times", step / own.step, step <= own.step / 0.9,
            fmt::format("step {:.3f} ms, kernels {:.3f} ms, {:.0f} tokens/s, each for {:.2f} s", 1e3 * step, 1e3 * own.step, tokens, each),
            {{"step_seconds", step}, {"kernel_seconds", own.step}, {"tokens_per_second", tokens}});
  for (const auto& [kernel, time] : own.of_kernel) {
    bench.add(fmt::format("kernel {} {}", kernel, to_text(plan.kernels[kernel].kind)), 1e6 * time, true,
              fmt::format("us, {:.1f} in traced steps", 1e6 * traced[kernel]), {{"traced_seconds", traced[kernel]}});
  }
}

/// Each direction alone, beside the other, and beside the CPU's Adam on 16 threads; both must move.
void copies(Bench& bench) {
  constexpr std::size_t kThreads = 16;
  const CopyRates rates = try_copies(*bench.device(), kThreads);
  const auto add = [&](const char* what, double rate, double alone) {
    bench.add(fmt::format("{}, GB/s", what), rate / 1e9, rate > 0.6 * alone && alone > 1e9, fmt::format("alone {:.1f}", alone / 1e9));
  };
  add("to the device", rates.up, rates.up);
  add("to the host", rates.down, rates.down);
  add("to the device with the other way busy", rates.up_beside_down, rates.up);
  add("to the host with the other way busy", rates.down_beside_up, rates.down);
  add("to the device beside the CPU's Adam", rates.up_beside_adam, rates.up);
  add("to the host beside the CPU's Adam", rates.down_beside_adam, rates.down);
  add("the CPU's Adam", rates.adam, rates.adam);
  add("the CPU's Adam beside copies to the device", rates.adam_beside_up, rates.adam);
  add("the CPU's Adam beside copies to the host", rates.adam_beside_down, rates.adam);
}

void clock(Bench& bench) {
  EventPool events(*bench.device());
  const StreamId stream = bench.device()->add_stream();
  const DeviceClock clock(events, stream, std::chrono::steady_clock::now());
  const double uncertain = static_cast<double>(clock.uncertainty().count) / 1e3;
  bench.add("", uncertain, uncertain < 50, "us");
  const EventCost cost = find_event_cost(events, stream);
  const double within = static_cast<double>(cost.within.count) / 1e3, between = static_cast<double>(cost.between.count) / 1e3;
  bench.add("what events add to a kernel", within + between, within + between < 20,
            fmt::format("us: {:.2f} within it, {:.2f} before the next", within, between));
}

}  // namespace

std::vector<Check> speed_checks() {
  return {{"clock", "device and host clock aligned within 50 us", clock},
          {"copies", "pinned copies, each way, the other and the CPU's Adam keep 0.6 of their rates beside one another", copies},
          {"resident-speed", "a step takes at most 1/0.9 of its kernels' own sustained times", resident, 180}};
}

}  // namespace plimsoll::gpu
