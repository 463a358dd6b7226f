#include "sim/stack/predict_stack.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/stack/device_room.h"
#include "sim/stack/llmc/llmc_arenas.h"
#include "sim/stack/megatron/megatron_steps.h"
#include "sim/stack/replay_log.h"
#include "sim/stack/step_time.h"
#include "sim/stack/training_steps.h"

namespace plimsoll {
namespace {

/// Below this margin a verdict is uncertain: what run-to-run differences and versions of libraries take (MEMORY.md, 10).
constexpr double kGuardShare = 0.03;
constexpr Bytes kGuard = 64 * kMiB;
/// An interpreter with PyTorch and CUDA's libraries, a tokenizer and a data set (the process of a small run).
constexpr Bytes kProgram = Bytes(900'000'000);

tl::unexpected<Error> unsupported(std::string what) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = {}, .remedy = "leave the option out"});
}

/// Whether Megatron-LM's layers are cut by ranks: its own program, and Megatron-DeepSpeed's.
bool cuts_layers(const StackSetup& setup) {
  if (setup.stack == Stack::kMegatron) return true;
  return setup.stack == Stack::kDeepspeed && setup.modules == ModuleStyle::kMegatron && setup.zero <= 1 &&
         (setup.tensor_ranks > 1 || setup.stages > 1);
}

Result<void> check_modelled(const StackSetup& setup) {
  if (setup.stack == Stack::kPlimsoll) return unsupported("plimsoll does not allocate while a step runs");
  if (!cuts_layers(setup) && (setup.tensor_ranks > 1 || setup.stages > 1 || setup.context_ranks > 1)) {
    return unsupported("tensor ranks and stages are modelled of megatron alone, and of deepspeed with its layers up to ZeRO-1");
  }
  return {};
}

bool is_hopper_or_later(const GpuEntry& gpu) {
  return gpu.compute_capability == "9.0" || gpu.compute_capability == "10.0" || gpu.compute_capability == "12.0";
}

TapeOptions tape_options(const GpuEntry& gpu, const StackSetup& setup) {
  TapeOptions options;
  options.compiled = setup.compile;
  if (is_hopper_or_later(gpu) || setup.deterministic) options.product_workspace = 32 * kMiB;
  // Megatron-LM's own layers go through cuBLAS and cuBLASLt, each with a workspace.
  if (cuts_layers(setup) && !setup.transformer_engine) options.product_workspace = options.product_workspace + options.product_workspace;
  return options;
}

std::string place_text(const Place& place) {
  return place.step == 0 ? place.what : fmt::format("step {}, {}, {}", place.step, to_text(place.phase), place.what);
}

StackCategories categories(const Replay& replay) {
  const auto held = [&](Holding holding) { return replay.at_peak[static_cast<std::size_t>(holding)]; };
  return {.parameters = held(Holding::kParameters), .gradients = held(Holding::kGradients), .optimizer = held(Holding::kOptimizer),
          .activations = held(Holding::kActivations), .workspace = held(Holding::kWorkspace)};
}

StackMemory memory_of(const Replay& replay, const DeviceRoom& room) {
  const Bytes process = replay.reserved + room.context;
  return {.requested = replay.requested, .allocated = replay.allocated, .reserved = replay.reserved, .process = process,
          .device = process + room.others};
}

void judge(StackPrediction& prediction, Bytes least, const DeviceRoom& room) {
  prediction.usable = room.usable;
  prediction.fits = least <= prediction.usable;
  prediction.margin = prediction.usable - least;
  const Bytes guard = std::max(kGuard, Bytes(static_cast<std::int64_t>(kGuardShare * static_cast<double>(prediction.usable.count))));
  prediction.certain = std::max(prediction.margin, Bytes(0) - prediction.margin) > guard;
}

/// Allocations in their order through PyTorch's allocator.
StackPrediction replayed(const Tape& tape, const StepMarks& marks, const StackSetup& setup, const DeviceRoom& room) {
  CachingAllocatorOptions allocator{.expandable_segments = setup.expandable_segments};
  Replay whole = replay_log(tape.log(), allocator);
  StackPrediction prediction;
  judge(prediction, least_memory(tape.log(), allocator, whole), room);
  if (prediction.fits && whole.reserved > prediction.usable) {
    allocator.limit = prediction.usable;
    whole = replay_log(tape.log(), allocator);
  }
  prediction.peak = memory_of(whole, room);
  prediction.first_step = memory_of(replay_log(tape.log(), allocator, marks.first_step), room);
  prediction.at_peak = categories(whole);
  prediction.peak_at = place_text(tape.places()[whole.peak_place]);
  prediction.host = kProgram + marks.host;
  prediction.drive = marks.drive;
  return prediction;
}

/// Arenas that are reserved once.
StackPrediction reserved_once(const LlmcArenas& arenas, const DeviceRoom& room) {
  StackPrediction prediction;
  const Bytes total = arenas.total();
  judge(prediction, total, room);
  prediction.peak = {.requested = total, .allocated = total, .reserved = total, .process = total + room.context,
                     .device = total + room.context + room.others};
  prediction.first_step = prediction.peak;
  prediction.at_peak = {.parameters = arenas.parameters, .gradients = arenas.gradients, .optimizer = arenas.optimizer,
                        .activations = arenas.activations, .workspace = {}};
  prediction.peak_at = "always";
  return prediction;
}

/// The first stage holds most micro-batches, the last one the logits.
std::int64_t neediest_stage(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu) {
  if (setup.stages == 1) return 0;
  const auto needs = [&](std::int64_t stage) {
    Tape tape(tape_options(gpu, setup));
    run_megatron_steps(tape, spec, recipe, setup, stage, gpu.compute_capability);
    return replay_log(tape.log(), {}).allocated;
  };
  return needs(0) > needs(setup.stages - 1) ? 0 : setup.stages - 1;
}

Result<StackPrediction> predict_memory(Tape& tape, const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu) {
  const DeviceRoom room = device_room(gpu, setup);
  if (setup.stack == Stack::kLlmc) {
    if (const auto trains = check_llmc(spec, recipe, setup); !trains) return fail(trains.error());
    launch_llmc_step(tape, spec, recipe, setup);
    return reserved_once(llmc_arenas(spec, recipe, setup), room);
  }
  if (const auto modelled = check_modelled(setup); !modelled) return fail(modelled.error());
  if (cuts_layers(setup)) {
    if (const auto cuts = check_megatron(spec, recipe, setup); !cuts) return fail(cuts.error());
    const std::int64_t stage = setup.stage.value_or(neediest_stage(spec, recipe, setup, gpu));
    return replayed(tape, run_megatron_steps(tape, spec, recipe, setup, stage, gpu.compute_capability), setup, room);
  }
  const StepMarks marks = run_training_steps(tape, spec, recipe, setup, module_rules(spec, recipe, setup, gpu));
  return replayed(tape, marks, setup, room);
}

}  // namespace

Result<StackPrediction> predict_stack(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu) {
  Tape tape(tape_options(gpu, setup));
  auto prediction = predict_memory(tape, spec, recipe, setup, gpu);
  if (!prediction) return prediction;
  const auto time = step_time(tape.kernels(), setup, recipe.precision, gpu);
  if (!time) return fail(time.error());
  prediction->time = *time;
  return prediction;
}

}  // namespace plimsoll
