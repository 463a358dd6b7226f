#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/plan/expand.h"
#include "executor/cpu/arena.h"
#include "executor/cuda/device_clock.h"
#include "executor/cuda/event_cost.h"
#include "formats/models/resolve_model.h"
#include "tests/gpu/device_plans.h"
#include "tests/gpu/own_seconds.h"
#include "tests/support/tiny_training.h"

namespace plimsoll::gpu {
namespace {

const RepeatedText kCorpus("the quick brown fox jumps over the lazy dog. ", 1 << 20);

constexpr double kSustained = 1.0, kAllSustained = 40;  // seconds of each kernel, and of all together at most

Recipe speed_recipe() { return {.precision = Precision::kBf16Mixed, .micro_batch = 8, .sequence = 1024, .learning_rate = 1e-4}; }

double median_step(const Trace& trace) {
  std::vector<double> seconds;
  for (std::size_t i = 1; i < trace.steps.size(); ++i) seconds.push_back(to_seconds(trace.steps[i].duration()));
  std::nth_element(seconds.begin(), seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2), seconds.end());
  return seconds[seconds.size() / 2];
}

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
    step = median_step(taken(executor->run_steps({.first_step = 0, .steps = 12, .first_traced_step = 12}, kCorpus)));
    traced = traced_seconds(plan, taken(executor->run_steps({.first_step = 12, .steps = 4, .first_traced_step = 13}, kCorpus)));
  }
  const double each = std::min(kSustained, kAllSustained / static_cast<double>(plan.kernels.size()));
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

double rate(Device& device, std::span<const StreamId> streams, std::span<std::byte* const> to, std::span<std::byte* const> from,
            Bytes bytes) {
  const auto start = std::chrono::steady_clock::now();
  constexpr int kTimes = 20;
  for (int i = 0; i < kTimes; ++i) {
    for (std::size_t k = 0; k < streams.size(); ++k) device.copy(streams[k], to[k], from[k], bytes);
  }
  device.synchronize();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return kTimes * static_cast<double>(bytes.count) / seconds / 1e9;
}

/// Each direction alone and beside the other; both must move.
void copies(Bench& bench) {
  Device& device = *bench.device();
  const Bytes bytes = 256 * kMiB;
  HostArena there(bytes), back(bytes);
  device.pin({there.data(), static_cast<std::size_t>(bytes.count)});
  device.pin({back.data(), static_cast<std::size_t>(bytes.count)});
  std::byte* const memory[] = {device.reserve(bytes), device.reserve(bytes)};
  const StreamId streams[] = {device.add_stream(), device.add_stream()};
  std::byte* const to[] = {memory[0], back.data()};
  std::byte* const from[] = {there.data(), memory[1]};
  rate(device, streams, to, from, bytes);
  const double h2d = rate(device, std::span(streams).first(1), std::span(to).first(1), std::span(from).first(1), bytes);
  const double d2h = rate(device, std::span(streams).last(1), std::span(to).last(1), std::span(from).last(1), bytes);
  const double both = rate(device, streams, to, from, bytes);
  bench.add("to the device, GB/s", h2d, h2d > 1);
  bench.add("to the host, GB/s", d2h, d2h > 1);
  bench.add("each way with the other busy, GB/s", both, both > 0.6 * std::min(h2d, d2h));
  device.unpin({there.data(), static_cast<std::size_t>(bytes.count)});
  device.unpin({back.data(), static_cast<std::size_t>(bytes.count)});
  for (std::byte* used : memory) device.release(used);
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
          {"copies", "pinned copies run both ways at once", copies},
          {"resident-speed", "a step takes at most 1/0.9 of its kernels' own sustained times", resident, 120}};
}

}  // namespace plimsoll::gpu
