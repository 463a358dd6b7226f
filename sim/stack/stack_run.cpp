#include "sim/stack/stack_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/stack/check_adapters.h"
#include "sim/stack/check_fp8.h"
#include "sim/stack/check_kernels.h"
#include "sim/stack/check_preference.h"
#include "sim/stack/megatron/check_megatron.h"
#include "sim/stack/megatron/megatron_steps.h"
#include "sim/stack/modules/module_rules.h"
#include "sim/stack/replay_log.h"
#include "sim/stack/sequence_ranks.h"
#include "sim/stack/tape/tape.h"
#include "sim/stack/tensor_ranks.h"
#include "sim/stack/training_steps.h"

namespace plimsoll {
namespace {

/// What Gemini's automatic placement plans with of a GPU (Colossal-AI's chunk manager; PLANNERS, OFFLOAD 5).
constexpr double kGeminiShare = 0.9;
/// PatrickStar takes the same share of the GPU; a tenth of it is all that its warm-up puts chunks on (examples/ps_config.py).
constexpr double kWarmUpShare = 0.1 * kGeminiShare;

tl::unexpected<Error> unsupported(std::string what) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = {}, .remedy = "leave the option out"});
}

Result<void> check_modelled(const StackSetup& setup) {
  if (setup.stack == Stack::kPlimsoll) return unsupported("plimsoll does not allocate while a step runs");
  if (setup.stack == Stack::kLlmc) return unsupported("llm.c reserves its arenas once and allocates nothing while a step runs");
  if (shares_layers(setup)) return {};  // what they share is judged with the model
  if (!cuts_layers(setup) && !shares_sequence(setup) && (setup.tensor_ranks > 1 || setup.stages > 1 || setup.context_ranks > 1)) {
    return unsupported("tensor ranks and stages are modelled of megatron, and of deepspeed with its layers up to ZeRO-1, tensor ranks also of pytorch with torchtune modules; ranks that share a sequence also of deepspeed's ZeRO-3 with huggingface modules, and of pytorch's FSDP (--zero 3) with huggingface or torchtune modules");
  }
  return {};
}

bool is_hopper_or_later(const GpuEntry& gpu) {
  return gpu.compute_capability == "9.0" || gpu.compute_capability == "10.0" || gpu.compute_capability == "12.0";
}

std::int64_t longest_of(const SequenceLengths& lengths) {
  return lengths.seen.empty() ? lengths.longest : *std::max_element(lengths.seen.begin(), lengths.seen.end());
}

/// Ada's and Hopper's units read operands of 8 bits along the inner dimension alone; torchao's layers keep theirs in two bytes.
Fp8Rules fp8_rules(const StackSetup& setup, const GpuEntry& gpu) {
  return {.transposes = gpu.compute_capability == "8.9" || gpu.compute_capability == "9.0",
          .finds_largest = setup.fp8.scaling == Fp8Scaling::kCurrent,
          .keeps_wide = setup.modules == ModuleStyle::kTorchTune};
}

/// Longer sequences are cut; were all shorter, what is asked for would never be met.
Result<void> check_lengths(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup) {
  if (!setup.lengths.vary()) return {};
  if (spec.reads_images() || spec.is_conv_net()) return unsupported("images have no lengths");
  if (cuts_layers(setup)) return unsupported("Megatron's sequences are all of one length");
  const std::int64_t longest = longest_of(setup.lengths);
  if (longest >= recipe.sequence) return {};
  return fail({.kind = ErrorKind::kInput, .what = fmt::format("no sequence is as long as {} tokens", recipe.sequence),
               .where = "--lengths", .remedy = fmt::format("add --seq {}", longest)});
}

/// What is written on the tape, in the run's own places.
void take_tape(StackRun& run) {
  run.log = &run.tape->log();
  run.kernels = run.tape->kernels();
  run.places = run.tape->places();
}

/// What a stage of Megatron's does.
StackRun stage_run(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, std::int64_t stage, const GpuEntry& gpu) {
  StackRun run{.tape = make_tape(setup, gpu), .room = device_room(gpu, setup)};
  run.marks = run_megatron_steps(*run.tape, spec, recipe, setup, stage, gpu.compute_capability);
  take_tape(run);
  return run;
}

/// Stages that differ: the first holds most micro-batches, the last the logits, and those between may have more layers, of which the second holds
/// most micro-batches.
std::vector<std::int64_t> unlike_stages(std::int64_t stages) {
  if (stages > 2) return {0, 1, stages - 1};
  return {0, stages - 1};
}

/// Of a pipeline the stage that needs most is told, or the one that was asked for.
StackRun pipeline_run(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu) {
  if (setup.stages == 1) return stage_run(spec, recipe, setup, 0, gpu);
  StackRun told;
  Bytes most{-1};
  std::vector<std::vector<StackKernel>> pipeline;
  for (const std::int64_t stage : unlike_stages(setup.stages)) {
    StackRun run = stage_run(spec, recipe, setup, stage, gpu);
    pipeline.push_back(run.kernels);
    const Bytes needs = replay_log(*run.log, {}).allocated;
    if (setup.stage ? stage != *setup.stage : needs < most) continue;
    most = needs;
    told = std::move(run);
    told.stage = stage;
  }
  if (told.log == nullptr) {
    told = stage_run(spec, recipe, setup, *setup.stage, gpu);
    told.stage = *setup.stage;
  }
  told.pipeline = std::move(pipeline);
  return told;
}

/// Inputs of blocks in host memory while a micro-batch is under way, which nothing else leaves there in its forward pass.
Bytes waiting_checkpoints(const std::vector<StackKernel>& kernels, const Recipe& recipe, const StackSetup& setup) {
  if (setup.activations != Home::kHost || setup.stack == Stack::kColossalai) return Bytes(0);
  double bytes = 0;
  for (const StackKernel& kernel : kernels) {
    if (kernel.sort == StackKernelSort::kToHost && kernel.phase == Phase::kForward) bytes += kernel.bytes;
  }
  return Bytes(static_cast<std::int64_t>(bytes / static_cast<double>(std::max<std::int64_t>(1, recipe.accumulate))));
}

/// What of a model no fused attention does; empty: nothing.
std::string_view beyond_fused_attention(const ModelSpec& spec, const StackSetup& setup) {
  if (spec.positions == PositionKind::kDistance) return "has scores of distances";
  if (spec.sinks) return "has attention sinks";
  if (spec.score_cap > 0) return "caps attention scores";
  return writes_attention(spec, setup) ? "has its attention written out in transformers" : "";
}

/// PyTorch's fused attention gives another function of a model that caps its scores or has sinks.
Result<void> check_attention(const ModelSpec& spec, const StackSetup& setup) {
  const bool fused = setup.attention && *setup.attention != AttentionKernel::kEager;
  const std::string_view beyond = beyond_fused_attention(spec, setup);
  if (!fused || beyond.empty()) return {};
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("{} {}, which {} attention does not do", spec.name, beyond, to_text(*setup.attention)),
               .where = {},
               .remedy = "choose --attention eager"});
}

/// cuDNN has fused attention of two-byte numbers on Ampere and later.
Result<void> check_cudnn(const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu) {
  const bool wide = recipe.precision == Precision::kFp32 || recipe.precision == Precision::kTf32 || recipe.precision == Precision::kFp64;
  if (setup.attention != AttentionKernel::kCudnn || (!wide && has_flash_attention(gpu) && !is_simulated_only(gpu))) return {};
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("cuDNN attends in two-byte numbers on Ampere and later, not on {} in {}", gpu.name, to_text(recipe.precision)),
               .where = "--attention",
               .remedy = "leave it out"});
}

/// Convolutional nets have no blocks that a checkpoint stands for.
Result<void> check_conv_net(const ModelSpec& spec, const StackSetup& setup) {
  if (!spec.is_conv_net() || setup.recomputation == Recomputation::kNone) return {};
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("{} is a convolutional net, of which no checkpoints are modelled", spec.name),
               .where = "--recompute",
               .remedy = "take --compress-activations fp8 or a smaller --batch"});
}

/// What is updated as soon as its gradient is there has none left for the next micro-batch to add to.
Result<void> check_update(const Recipe& recipe, const StackSetup& setup) {
  if (!setup.update_in_backward || recipe.accumulate == 1) return {};
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("a parameter that is updated during backward keeps no gradient over {} micro-batches", recipe.accumulate),
               .where = "--update-in-backward",
               .remedy = "leave it or --accumulate out"});
}

/// Transformer-XL is simulated as NVIDIA's code trains it, which has none of these.
Result<void> check_segments(const ModelSpec& spec, const StackSetup& setup) {
  if (spec.positions != PositionKind::kDistance) return {};
  const std::pair<bool, std::string_view> unknown[] = {{setup.recomputation != Recomputation::kNone, "checkpoints"},
                                                       {setup.compile || setup.compile_loss, "compiled kernels"},
                                                       {setup.lengths.vary(), "segments of varying length"},
                                                       {setup.loss_chunks > 1, "chunks of the loss"},
                                                       {setup.fp8.exists(), "products in fp8"}};
  for (const auto& [asked, what] : unknown) {
    if (asked) return unsupported(fmt::format("{} carries memory from segment to segment, of which no {} are modelled", spec.name, what));
  }
  return {};
}

Result<StackRun> run_as_stated(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu) {
  if (const auto known = check_attention(spec, setup); !known) return fail(known.error());
  if (const auto known = check_flash(setup, gpu); !known) return fail(known.error());
  if (const auto known = check_cudnn(recipe, setup, gpu); !known) return fail(known.error());
  if (const auto known = check_conv_net(spec, setup); !known) return fail(known.error());
  if (const auto known = check_update(recipe, setup); !known) return fail(known.error());
  if (const auto known = check_segments(spec, setup); !known) return fail(known.error());
  if (const auto known = check_lengths(spec, recipe, setup); !known) return fail(known.error());
  if (const auto known = check_fp8(spec, recipe, setup, gpu); !known) return fail(known.error());
  if (const auto known = check_unsloth(spec, recipe, setup); !known) return fail(known.error());
  if (const auto known = check_liger(spec, setup); !known) return fail(known.error());
  if (const auto known = check_packing(spec, setup); !known) return fail(known.error());
  if (const auto known = check_preference(spec, recipe, setup); !known) return fail(known.error());
  if (const auto known = check_writer(spec, recipe, setup, gpu); !known) return fail(known.error());
  if (const auto known = check_fused_head(spec, setup); !known) return fail(known.error());
  if (const auto known = check_sequence_ranks(spec, recipe, setup); !known) return fail(known.error());
  if (const auto known = check_tensor_ranks(spec, recipe, setup); !known) return fail(known.error());
  if (const auto known = check_tiles(spec, setup); !known) return fail(known.error());
  if (const auto known = check_adapters(spec, recipe, setup); !known) return fail(known.error());
  if (cuts_layers(setup)) {
    if (const auto cuts = check_megatron(spec, recipe, setup, gpu.compute_capability); !cuts) return fail(cuts.error());
    StackRun run = pipeline_run(spec, recipe, setup, gpu);
    run.marks.host += waiting_checkpoints(run.kernels, recipe, setup);
    return run;
  }
  StackRun run{.tape = make_tape(setup, gpu), .room = device_room(gpu, setup)};
  Recipe own = recipe;
  if (shares_sequence(setup)) own.sequence = recipe.sequence / setup.context_ranks;
  own.micro_batch *= setup.preference.sequences();
  run.marks = run_training_steps(*run.tape, spec, own, setup, module_rules(spec, recipe, setup, gpu));
  take_tape(run);
  run.marks.host += waiting_checkpoints(run.kernels, recipe, setup);
  return run;
}

}  // namespace

StackRun run_model(const StackModelMaker& make, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu) {
  StackRun run{.tape = make_tape(setup, gpu), .room = device_room(gpu, setup)};
  run.marks = run_training_steps(*run.tape, make, recipe, setup);
  take_tape(run);
  return run;
}

std::shared_ptr<Tape> make_tape(const StackSetup& setup, const GpuEntry& gpu) {
  TapeOptions options;
  options.compiled = setup.compile;
  // Inductor lays convolutional nets out so by itself (layout_optimization).
  options.channels_last = setup.channels_last || setup.compile;
  // A compiler sums in kernels of its own.
  if (!setup.compile) options.sum_blocks = sum_blocks_of(gpu.multiprocessors, gpu.compute_capability);
  options.optimizer_form = setup.optimizer_form;
  options.fp8 = fp8_rules(setup, gpu);
  options.recomputes_attention = setup.recomputes_attention;
  options.stops_early = stops_early(setup);
  options.softmax_keeps_input = setup.older_softmax || setup.legacy_kernels;
  if (is_hopper_or_later(gpu) || setup.deterministic) options.product_workspace = 32 * kMiB;
  // Megatron-LM's own layers go through cuBLAS and cuBLASLt, each with a workspace.
  if (cuts_layers(setup) && !setup.transformer_engine)
    options.product_workspace = options.product_workspace + options.product_workspace;
  return std::make_shared<Tape>(options);
}

Result<StackRun> run_stack(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu) {
  if (const auto modelled = check_modelled(setup); !modelled) return fail(modelled.error());
  if (const auto kept = check_optimizer_form(spec, recipe, setup); !kept) return fail(kept.error());
  if (!setup.automatic_placement) return run_as_stated(spec, recipe, setup, gpu);
  // The warm-up iteration has all chunks in host memory; what it leaves is filled afterwards.
  StackSetup placed = setup;
  placed.parameters = placed.optimizer = Home::kHost;
  const auto share_of = [](double share, Bytes memory) { return Bytes(static_cast<std::int64_t>(share * static_cast<double>(memory.count))); };
  auto warm_up = run_as_stated(spec, recipe, placed, gpu);
  if (!warm_up) return warm_up;
  const Bytes usable = warm_up->room.usable;
  placed.chunk_room = std::max(Bytes(0), share_of(kGeminiShare, usable) - replay_log(*warm_up->log, {}).allocated);
  if (setup.manager == ChunkManager::kPatrickStar) placed.warm_up_room = share_of(kWarmUpShare, usable);
  return run_as_stated(spec, recipe, placed, gpu);
}

}  // namespace plimsoll
