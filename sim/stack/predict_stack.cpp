#include "sim/stack/predict_stack.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/machines/memory_overheads.h"
#include "sim/stack/kernel_seconds.h"
#include "sim/stack/replay_log.h"
#include "sim/stack/training_steps.h"

namespace plimsoll {
namespace {

/// Below this margin a verdict is uncertain: what run-to-run differences and versions of libraries take (MEMORY.md, 10).
constexpr double kGuardShare = 0.03;
constexpr Bytes kGuard = 64 * kMiB;

tl::unexpected<Error> unsupported(std::string what) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = {}, .remedy = "leave the option out"});
}

Result<void> check_modelled(const ModelSpec& spec, const StackSetup& setup) {
  if (setup.stack == Stack::kLlmc || setup.stack == Stack::kPlimsoll) {
    return unsupported(fmt::format("{} does not allocate while a step runs", to_text(setup.stack)));
  }
  if (setup.data_ranks > 1 || setup.tensor_ranks > 1 || setup.stages > 1) return unsupported("several GPUs are not modelled yet");
  if (spec.experts.count > 0) return unsupported("mixtures of experts are not modelled yet");
  return {};
}

TapeOptions tape_options(const GpuEntry& gpu) {
  TapeOptions options;
  const bool hopper = gpu.compute_capability == "9.0" || gpu.compute_capability == "10.0" || gpu.compute_capability == "12.0";
  if (hopper) options.product_workspace = 32 * kMiB;
  return options;
}

/// What of a GPU's memory is not the allocator's.
struct Room {
  Bytes context;
  Bytes others;  ///< a desktop
  Bytes usable;
};

Bytes overhead(std::string_view item, const GpuEntry& gpu) {
  const MemoryOverhead* row = find_overhead(built_in_memory_overheads(), item, gpu);
  return row == nullptr ? Bytes(0) : overhead_bytes(*row, gpu);
}

Room room_of(const GpuEntry& gpu, const StackSetup& setup) {
  Room room{.context = overhead("context", gpu), .others = setup.desktop ? overhead("desktop", gpu) : Bytes(0), .usable = {}};
  room.usable = gpu.memory - overhead("carve_out", gpu) - room.context - room.others;
  if (setup.device_memory) room.usable = std::min(room.usable, *setup.device_memory);
  return room;
}

std::string place_text(const Place& place) {
  return place.step == 0 ? place.what : fmt::format("step {}, {}, {}", place.step, to_text(place.phase), place.what);
}

StackCategories categories(const Replay& replay) {
  const auto held = [&](Holding holding) { return replay.at_peak[static_cast<std::size_t>(holding)]; };
  return {.parameters = held(Holding::kParameters), .gradients = held(Holding::kGradients), .optimizer = held(Holding::kOptimizer),
          .activations = held(Holding::kActivations), .workspace = held(Holding::kWorkspace)};
}

Result<StackTime> time_of(const Tape& tape, const GpuEntry& gpu, bool tf32) {
  StackTime time;
  for (const StackKernel& kernel : tape.kernels()) {
    const auto seconds = kernel_seconds(kernel, gpu, tf32);
    if (!seconds) return fail(seconds.error());
    (kernel.phase == Phase::kForward ? time.forward : kernel.phase == Phase::kBackward ? time.backward : time.optimizer) += *seconds;
    time.hardware_flops += kernel.flops;
    if (!kernel.again) time.model_flops += kernel.flops;
  }
  time.step = time.forward + time.backward + time.optimizer;
  time.low = 0.8 * time.step;
  time.high = 1.2 * time.step;
  return time;
}

StackMemory memory_of(const Replay& replay, const Room& room) {
  const Bytes process = replay.reserved + room.context;
  return {.requested = replay.requested, .allocated = replay.allocated, .reserved = replay.reserved, .process = process,
          .device = process + room.others};
}

}  // namespace

Result<StackPrediction> predict_stack(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu) {
  if (const auto modelled = check_modelled(spec, setup); !modelled) return fail(modelled.error());
  const ModuleRules rules = module_rules(spec, recipe, setup, gpu);
  Tape tape(tape_options(gpu));
  const StepMarks marks = run_training_steps(tape, spec, recipe, setup, rules);
  const Room room = room_of(gpu, setup);
  CachingAllocatorOptions allocator{.expandable_segments = setup.expandable_segments};
  Replay whole = replay_log(tape.log(), allocator);
  const Bytes least = least_memory(tape.log(), allocator, whole);
  StackPrediction prediction;
  prediction.usable = room.usable;
  prediction.fits = least <= prediction.usable;
  prediction.margin = prediction.usable - least;
  const Bytes guard = std::max(kGuard, Bytes(static_cast<std::int64_t>(kGuardShare * static_cast<double>(prediction.usable.count))));
  prediction.certain = std::max(prediction.margin, Bytes(0) - prediction.margin) > guard;
  if (prediction.fits && whole.reserved > prediction.usable) {
    allocator.limit = prediction.usable;
    whole = replay_log(tape.log(), allocator);
  }
  prediction.peak = memory_of(whole, room);
  prediction.first_step = memory_of(replay_log(tape.log(), allocator, marks.first_step), room);
  prediction.at_peak = categories(whole);
  prediction.peak_at = place_text(tape.places()[whole.peak_place]);
  const auto time = time_of(tape, gpu, false);
  if (!time) return fail(time.error());
  prediction.time = *time;
  return prediction;
}

}  // namespace plimsoll
