#include "sim/stack/predict_stack.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/stack/check_adapters.h"
#include "sim/stack/check_fp8.h"
#include "sim/stack/check_kernels.h"
#include "sim/stack/check_preference.h"
#include "sim/stack/device_room.h"
#include "sim/stack/kernel_rates.h"
#include "sim/stack/llmc/check_llmc.h"
#include "sim/stack/llmc/llmc_arenas.h"
#include "sim/stack/modules/module_rules.h"
#include "sim/stack/node_placement.h"
#include "sim/stack/pipeline_time.h"
#include "sim/stack/replay_log.h"
#include "sim/stack/sequence_ranks.h"
#include "sim/stack/stack_run.h"
#include "sim/stack/step_time.h"
#include "sim/stack/tensor_ranks.h"
#include "sim/stack/tape/tape.h"
#include "sim/stack/training_steps.h"

namespace plimsoll {
namespace {

/// Below this margin a verdict is uncertain: what run-to-run differences and versions of libraries take (MEMORY.md, 10).
constexpr double kGuardShare = 0.03;
constexpr Bytes kGuard = 64 * kMiB;
/// An interpreter with PyTorch and CUDA's libraries, a tokenizer and a data set (the process of a small run).
constexpr Bytes kProgram = Bytes(900'000'000);
/// What building a model and its first steps on a GPU add to that: libraries' tables, kernels that are compiled,
/// autograd. 1.16 to 1.29 GB in three logged runs (data/published/ladder_rules.csv).
constexpr Bytes kFirstSteps = Bytes(1'200'000'000);

/// Of host memory, what PatrickStar fills with chunks (overall_cpu_mem_ratio in its examples/ps_config.py).
constexpr double kPatrickStarHost = 0.9;

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

Bytes guard_of(Bytes usable) { return std::max(kGuard, Bytes(static_cast<std::int64_t>(kGuardShare * static_cast<double>(usable.count)))); }

void judge(StackPrediction& prediction, Bytes least, const DeviceRoom& room) {
  prediction.usable = room.usable;
  prediction.fits = least <= prediction.usable;
  prediction.margin = prediction.usable - least;
  prediction.certain = std::max(prediction.margin, Bytes(0) - prediction.margin) > guard_of(prediction.usable);
}

/// Allocations in their order through PyTorch's allocator; `replay` is what it came to as far as it got.
StackPrediction replayed(const StorageLog& log, CachingAllocatorOptions allocator, const DeviceRoom& room, std::size_t first_step,
                         StackDetail detail, ReplayedSteps& replay) {
  replay = replay_steps(log, allocator, first_step);
  StackPrediction prediction;
  const Bytes good = detail == StackDetail::kVerdict ? room.usable - guard_of(room.usable) - Bytes(1) : Bytes(0);
  judge(prediction, least_memory(log, allocator, replay.whole, good), room);
  if (prediction.fits && replay.whole.reserved > prediction.usable) {
    allocator.limit = prediction.usable;
    replay = replay_steps(log, allocator, first_step);
  }
  prediction.peak = memory_of(replay.whole, room);
  prediction.at_peak = categories(replay.whole);
  prediction.first_step = memory_of(replay.first, room);
  return prediction;
}

StackPrediction replayed_run(const StackRun& run, const StackSetup& setup, StackDetail detail) {
  ReplayedSteps replay;
  DeviceRoom room = run.room;
  room.usable -= run.marks.paged.at_once;  // where a parameter is updated its states are there
  StackPrediction prediction =
      replayed(*run.log, {.expandable_segments = setup.expandable_segments}, room, run.marks.first_step, detail, replay);
  prediction.usable = run.room.usable;
  prediction.peak_at = place_text(run.places[replay.whole.peak_place]);
  prediction.host = kProgram + kFirstSteps + run.marks.host;
  if (setup.manager == ChunkManager::kPatrickStar) {
    prediction.host = std::max(prediction.host, Bytes(static_cast<std::int64_t>(static_cast<double>(run.marks.host.count) / kPatrickStarHost)));
  }
  prediction.drive = run.marks.drive;
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

/// What was taken of nodes and of what joins GPUs and, where there are several, nodes.
void say_nodes(StackPrediction& prediction, const StackSetup& setup, const GpuEntry& gpu) {
  const auto placed = place_on_nodes(gpu, gpus_of(setup), {setup.nodes, setup.network, setup.peers});
  if (placed && placed->peers) prediction.assumptions.push_back(peers_text(*placed->peers));
  if (!placed || placed->nodes() == 1) return;
  if (!placed->nodes_stated) prediction.assumptions.push_back(usual_nodes_text(placed->node_gpus));
  prediction.assumptions.push_back(placed->network_origin);
}

/// Which stage memory and time are told of; each is 0 for the first, 1 for the second, which stands for all between, 2 for the last.
std::string told_text(int needs_most, int slowest) {
  constexpr const char* kNames[] = {"first", "second", "last"};
  if (needs_most == slowest) return fmt::format("of the pipeline's stages the {} is told, which needs most and takes longest", kNames[slowest]);
  return fmt::format("memory is told of the pipeline's {} stage, which needs most, time of its {}, which takes longest", kNames[needs_most], kNames[slowest]);
}

/// The time of the told stage becomes that of the whole pipeline.
Result<void> add_pipeline(StackPrediction& prediction, const StackRun& run, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu) {
  if (run.pipeline.empty()) return {};
  std::vector<StackTime> times;
  for (const std::vector<StackKernel>& kernels : run.pipeline) {
    const auto time = step_time(kernels, setup, recipe.precision, gpu);
    if (!time) return fail(time.error());
    times.push_back(*time);
  }
  const PipelineStages pipeline{.first = times.front(), .between = times[1], .last = times.back()};
  prediction.time = pipeline_time(pipeline, recipe, setup);
  const int needs_most = run.stage == 0 ? 0 : run.stage + 1 == setup.stages ? 2 : 1;
  if (!setup.stage) prediction.assumptions.push_back(told_text(needs_most, pipeline.slowest(setup.stages)));
  prediction.assumptions.push_back(fmt::format("of a step, a stage waits {} for the others of the pipeline, which is in no phase",
                                               to_text(from_seconds(prediction.time.bubble))));
  return {};
}

Result<StackPrediction> predict_arenas(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu) {
  if (const auto known = check_preference(spec, recipe, setup); !known) return fail(known.error());
  if (const auto trains = check_llmc(spec, recipe, setup); !trains) return fail(trains.error());
  if (const auto kept = check_optimizer_form(spec, recipe, setup); !kept) return fail(kept.error());
  if (const auto known = check_fp8(spec, recipe, setup, gpu); !known) return fail(known.error());
  const auto tape = make_tape(setup, gpu);
  launch_llmc_step(*tape, spec, recipe, setup);
  StackPrediction prediction = reserved_once(llmc_arenas(spec, recipe, setup), device_room(gpu, setup));
  const auto time = step_time(tape->kernels(), setup, recipe.precision, gpu);
  if (!time) return fail(time.error());
  prediction.time = *time;
  say_nodes(prediction, setup, gpu);
  return prediction;
}

/// What was taken for granted of a base of 4 or 8 bits, where it could be otherwise.
void note_preparation(StackPrediction& prediction, const ModuleRules& rules, const Recipe& recipe, const StackSetup& setup) {
  if (!is_encoded(recipe.adapter) || setup.modules != ModuleStyle::kHuggingFace) return;
  if (!rules.prepared) {
    prediction.assumptions.emplace_back("the base is not prepared by PEFT (prepare_model_for_kbit_training): what is not encoded has the "
                                        "type that the model was loaded in");
    if (is_fsdp(setup) && setup.recomputation == Recomputation::kNone)
      prediction.assumptions.emplace_back("nothing is recomputed: PEFT's preparation, which turns checkpoints on, does not run under FSDP (--recompute full)");
    return;
  }
  prediction.assumptions.emplace_back("the base is prepared by PEFT (prepare_model_for_kbit_training): embedding, norms and head are in fp32, "
                                      "and so are the stream between blocks and what checkpoints keep of it; "
                                      "--kbit-preparation no leaves it out");
  prediction.assumptions.emplace_back(setup.recomputation == Recomputation::kNone
                                          ? "nothing is recomputed, though PEFT's preparation turns checkpoints on where nobody says otherwise"
                                          : "PEFT's preparation turns checkpoints on; --recompute none leaves them out");
}

/// What was taken for granted of gradients between micro-batches, and of experts, where software is of both sorts.
void note_loops(StackPrediction& prediction, const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup) {
  if (recipe.accumulate > 1 && keeps_whole_gradients(setup) && !setup.whole_gradients) {
    prediction.assumptions.emplace_back("gradients are reduced with a step's last micro-batch alone and whole on every GPU until then (no_sync); "
                                        "--whole-gradients no where every micro-batch reduces");
  }
  if (spec.experts.count > 0 && !cuts_layers(setup)) prediction.assumptions.emplace_back("every expert gets as many tokens as any other");
  const bool both = setup.modules == ModuleStyle::kHuggingFace && spec.family != Family::kLlama4;
  if (both && spec.experts.count > 0 && !setup.grouped_experts) {
    prediction.assumptions.emplace_back("experts multiply one by one, as in transformers 4; --grouped-experts yes has transformers 5's products");
  }
}

/// Experts that are one tensor stay as they are, whatever bitsandbytes makes of linear layers; which of both they are is a matter of the
/// version, so that nothing is sure to fit where nobody said it.
void note_wide_experts(StackPrediction& prediction, const ModelSpec& spec, const ModuleRules& rules, const Recipe& recipe, const StackSetup& setup) {
  if (spec.experts.count == 0 || !is_encoded(recipe.adapter) || setup.modules != ModuleStyle::kHuggingFace) return;
  if (rules.stacks_experts) {
    prediction.assumptions.emplace_back("experts are one tensor in transformers, and no linear layers, so that bitsandbytes does not encode them");
    return;
  }
  if (setup.grouped_experts) return;
  prediction.assumptions.emplace_back("experts are encoded, as transformers 4's are; transformers 5 has them in one tensor, which bitsandbytes leaves as wide "
                                      "as it is: --grouped-experts yes");
  if (prediction.fits) prediction.certain = false;
}

/// What was taken for granted of experts that Megatron's ranks share.
void note_rank_experts(StackPrediction& prediction, const ModelSpec& spec, const StackSetup& setup) {
  if (setup.stack != Stack::kMegatron || spec.experts.count == 0) return;
  prediction.assumptions.emplace_back("every expert gets as many tokens as any other, so that every rank's share of them is equal; a router that "
                                      "is less even needs more memory and time on the rank that gets most");
  prediction.assumptions.emplace_back(setup.gathers_tokens ? "all tokens come to each GPU that shares the experts, which takes its own (--expert-dispatch allgather)"
                                                           : "tokens are sent to their experts while kernels wait (--expert-dispatch alltoall); "
                                                             "Megatron-LM's own default is allgather");
}

/// Where Megatron-LM's own way stands in place of the model's file, or of what was asked.
void note_megatron(StackPrediction& prediction, const ModelSpec& spec, const StackSetup& setup, const GpuEntry& gpu) {
  if (cuts_layers(setup) && spec.post_norm) {
    prediction.assumptions.emplace_back("the BERT is Megatron-LM's own: norms stand before its halves and before its head, and none behind its embeddings");
  }
  if (setup.stack == Stack::kMegatron && setup.attention == AttentionKernel::kFlash && spec.latent.exists()) {
    prediction.assumptions.emplace_back("attention is cuDNN's, as FlashAttention 2 has none of keys wider than values");
  } else if (setup.stack == Stack::kMegatron && setup.attention == AttentionKernel::kFlash && gpu.compute_capability == "9.0") {
    prediction.assumptions.emplace_back("attention is cuDNN's, which Transformer Engine takes on Hopper where both are allowed; what FlashAttention 2 would copy is not told");
  }
}

/// What was taken for granted of maps that wait encoded.
void note_compression(StackPrediction& prediction, const MapCompression& compression) {
  if (!compression.exists()) return;
  prediction.assumptions.push_back(fmt::format("{:.0f} % of what a ReLU makes are zeros (--relu-zeros), scattered at random", 100 * compression.relu_zeros));
  prediction.assumptions.emplace_back("kernels that encode and decode feature maps read and write at the rate of memory; none was measured");
  if (compression.encoding != MapEncoding::kLossless) {
    prediction.assumptions.emplace_back("gradients are made from rounded feature maps: losses are not those of the training without");
  }
}

/// What is not known of making projectors.
void note_projection(StackPrediction& prediction, const OptimizerForm& form) {
  if (form.projection != GradientProjection::kGalore) return;
  prediction.assumptions.push_back(fmt::format("projectors are made anew every {} steps by singular value decompositions, of which each step bears its "
                                               "share: their arithmetic at the rate of fp32 products, which they do not reach; the library's own "
                                               "workspace for them is not counted", form.every));
}

/// How many tokens meet which words.
void note_words(StackPrediction& prediction, const ModelSpec& spec) {
  if (!spec.adaptive.exists()) return;
  const double share = word_clusters(spec.adaptive, spec.vocabulary, spec.hidden).front().share;
  prediction.assumptions.push_back(fmt::format("{:.1f} % of the tokens are of the {} most frequent words, by a power law through WikiText-103's counts; "
                                               "the others meet their clusters", 100 * share, spec.adaptive.cutoffs.front()));
}

/// Of sequences longer than some blocks' window.
void note_window(StackPrediction& prediction, const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const ModuleRules& rules) {
  if (!spec.slides_over(recipe.sequence)) return;
  if (rules.masks_window) {
    prediction.assumptions.push_back(fmt::format("beyond the window of {} tokens transformers hands fused attention a mask, under which all scores are "
                                                 "computed; --attention flash is FlashAttention 2, which leaves them out", spec.window));
  } else if (setup.modules != ModuleStyle::kHuggingFace || rules.attention == AttentionKernel::kEager) {
    prediction.assumptions.push_back(fmt::format("blocks with a window of {} tokens take the time of such that see all", spec.window));
  }
}

/// Documents are cut where a sequence ends.
void note_packing(StackPrediction& prediction, const Recipe& recipe, const StackSetup& setup) {
  if (setup.document_tokens == 0) return;
  prediction.assumptions.push_back(fmt::format("sequences are filled with documents, and attention ends with each: an average token stands in one of {:.0f} tokens",
                                               std::min(setup.document_tokens, static_cast<double>(recipe.sequence))));
}

/// Where nothing was said of attention, and another PyTorch would take another kernel.
void note_attention(StackPrediction& prediction, const StackSetup& setup, const GpuEntry& gpu, const StackRun& run) {
  const bool attends = std::any_of(run.kernels.begin(), run.kernels.end(),
                                   [](const StackKernel& kernel) { return kernel.sort == StackKernelSort::kAttention && kernel.dtype != DType::kFp32; });
  if (setup.attention || !attends || !takes_cudnn(setup, gpu)) return;
  prediction.assumptions.emplace_back("attention is cuDNN's, as PyTorch 2.11 and later have it on Hopper; --older-sdpa tells an older PyTorch");
}

/// Host memory is judged where the user says how much there is.
void judge_host(StackPrediction& prediction, const StackSetup& setup) {
  if (!setup.host_memory) {
    if (prediction.host > 2 * (kProgram + kFirstSteps)) {
      prediction.assumptions.push_back(fmt::format("{} of host memory are taken to be there; say --ram to have them counted", to_text(prediction.host)));
    }
    return;
  }
  if (prediction.host <= *setup.host_memory) return;
  prediction.fits = false;
  const std::int64_t ranks = gpus_of_node(gpus_of(setup), setup.nodes);
  const std::string needed = to_text(prediction.host), there = to_text(*setup.host_memory);
  prediction.assumptions.push_back(
      ranks > 1 ? fmt::format("host memory: {} needed, {} usable for each of the {} ranks of a node", needed, there, ranks)
                : fmt::format("host memory: {} needed, {} usable", needed, there));
}

/// Gaps between buffers jump from one length to the next, while what is requested grows steadily: a refusal by little more than the guard is
/// no surer than that of a longer sequence, which cannot need less.
void compare_with_longer(StackPrediction& prediction, const ModelSpec& spec, Recipe recipe, const StackSetup& setup, const GpuEntry& gpu) {
  constexpr std::int64_t kAligned = 64;  // tokens: the steps in which `largest` looks
  const Bytes lacking = Bytes(0) - prediction.margin;
  const bool near = prediction.certain && lacking > Bytes(0) && lacking <= guard_of(prediction.usable) * 2;
  if (!near || recipe.sequence % kAligned == 0 || spec.reads_images() || spec.is_conv_net()) return;
  recipe.sequence = (recipe.sequence / kAligned + 1) * kAligned;
  const auto run = run_stack(spec, recipe, setup, gpu);
  if (!run) return;  // beyond the model's positions
  const StackPrediction longer = replayed_run(*run, setup, StackDetail::kVerdict);
  if (longer.fits || longer.margin <= prediction.margin) return;
  prediction.margin = longer.margin;
  prediction.certain = longer.certain;
}

/// What varying lengths cost beside sequences that are all as long as the longest.
Result<void> note_lengths(StackPrediction& prediction, const ModelSpec& spec, const Recipe& recipe, StackSetup setup, const GpuEntry& gpu) {
  if (!setup.lengths.vary()) return {};
  setup.lengths = {};
  const auto even = run_stack(spec, recipe, setup, gpu);
  if (!even) return fail(even.error());
  prediction.assumptions.push_back(fmt::format("{} micro-batches were simulated with lengths drawn from what --lengths says, each padded to its longest "
                                               "sequence, then a step of {} tokens, which is the one that is timed; were all sequences that long, {} would be reserved",
                                               steps_of_drawn_lengths(recipe) * recipe.accumulate, recipe.sequence,
                                               to_text(replayed_run(*even, setup, StackDetail::kAll).peak.reserved)));
  return {};
}

}  // namespace

StackPrediction predict_allocations(const StorageLog& log, const std::vector<std::string>& places, const DeviceRoom& room,
                                    bool expandable_segments) {
  ReplayedSteps replay;
  StackPrediction prediction = replayed(log, {.expandable_segments = expandable_segments}, room, 0, StackDetail::kAll, replay);
  prediction.first_step = {};  // nobody wrote down where it ends
  if (replay.whole.peak_place < places.size()) prediction.peak_at = places[replay.whole.peak_place];
  return prediction;
}

Result<StackPrediction> predict_run(const StackRun& run, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu,
                                    StackDetail detail) {
  StackPrediction prediction = replayed_run(run, setup, detail);
  std::vector<StackKernel> with_pages;
  if (run.marks.paged.exist()) {
    with_pages = run.kernels;
    add_paged_states(prediction, run.marks.paged, with_pages);
  }
  judge_host(prediction, setup);
  const auto time = step_time(run.marks.paged.exist() ? with_pages : run.kernels, setup, recipe.precision, gpu);
  if (!time) return fail(time.error());
  prediction.time = *time;
  if (const auto added = add_pipeline(prediction, run, recipe, setup, gpu); !added) return fail(added.error());
  say_nodes(prediction, setup, gpu);
  return prediction;
}

Result<StackPrediction> predict_stack(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu,
                                      StackDetail detail) {
  if (setup.stack == Stack::kLlmc) return predict_arenas(spec, recipe, setup, gpu);
  const auto run = run_stack(spec, recipe, setup, gpu);
  if (!run) return fail(run.error());
  auto prediction = predict_run(*run, recipe, setup, gpu, detail);
  if (!prediction) return prediction;
  compare_with_longer(*prediction, spec, recipe, setup, gpu);
  note_preparation(*prediction, module_rules(spec, recipe, setup, gpu), recipe, setup);
  note_loops(*prediction, spec, recipe, setup);
  note_wide_experts(*prediction, spec, module_rules(spec, recipe, setup, gpu), recipe, setup);
  note_rank_experts(*prediction, spec, setup);
  note_megatron(*prediction, spec, setup, gpu);
  note_compression(*prediction, setup.compression);
  note_words(*prediction, spec);
  note_packing(*prediction, recipe, setup);
  note_attention(*prediction, setup, gpu, *run);
  note_window(*prediction, spec, recipe, setup, module_rules(spec, recipe, setup, gpu));
  note_projection(*prediction, setup.optimizer_form);
  for (std::string& taken : preference_assumptions(recipe, setup)) prediction->assumptions.push_back(std::move(taken));
  if (setup.liger) prediction->assumptions.emplace_back(liger_assumption());
  if (setup.modules == ModuleStyle::kUnsloth) prediction->assumptions.emplace_back(unsloth_assumption());
  if (shares_sequence(setup)) prediction->assumptions.emplace_back(sequence_ranks_assumption(setup));
  if (shares_layers(setup)) prediction->assumptions.push_back(tensor_ranks_assumption(setup));
  if (setup.fp8.exists()) prediction->assumptions.push_back(fp8_assumption(gpu));
  if (detail == StackDetail::kVerdict) return prediction;
  if (const auto noted = note_lengths(*prediction, spec, recipe, setup, gpu); !noted) return fail(noted.error());
  return prediction;
}

Result<StackPrediction> predict_model(const StackModelMaker& make, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu) {
  return predict_run(run_model(make, recipe, setup, gpu), recipe, setup, gpu);
}

}  // namespace plimsoll
