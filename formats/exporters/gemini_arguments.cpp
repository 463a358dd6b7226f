#include "formats/exporters/gemini_arguments.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "formats/exporters/embedded_exporters.h"
#include "formats/exporters/refusals.h"

namespace plimsoll {
namespace {

using nlohmann::ordered_json;

Result<void> check_gemini(const ExportedTraining& training) {
  const TargetReach reach{
      .who = "gemini", .parameters = Tier::kHost, .optimizer = Tier::kHost, .activations = Tier::kDevice};
  if (const auto goes = check_reach(training, reach); !goes) return goes;
  const Precision precision = training.recipe.precision;
  if (precision != Precision::kFp16Mixed && precision != Precision::kBf16Mixed && precision != Precision::kBf16) {
    return cannot_export(fmt::format("gemini trains in two bytes, not in {}", to_text(precision)),
                         "take --precision fp16-mixed or bf16-mixed");
  }
  if (training.stages * training.context_ranks > 1) {
    return cannot_export("the GeminiPlugin makes no stages and cuts no sequences", "leave --pp and --cp out");
  }
  const OptimizerKind rule = training.recipe.optimizer;
  if (training.optimizer != Tier::kDevice && rule != OptimizerKind::kAdam && rule != OptimizerKind::kAdamW) {
    return cannot_export(
        fmt::format("gemini's HybridAdam is its only rule for states in host memory, not {}", to_text(rule)),
        "take --optimizer adamw");
  }
  // offload_param_frac below 1 has no effect beside it: parameters leave only when all states have left.
  if (training.parameters != Tier::kDevice && training.updates_away < 1 && !training.automatic_placement) {
    return cannot_export("gemini's parameters leave the device only when all states have left",
                         "choose --strategy gemini-static, or let all states wait");
  }
  return {};
}

void note_gemini(const ExportedTraining& training, std::vector<std::string>& notes) {
  const auto note = [&](bool applies, std::string text) {
    if (applies) notes.push_back(std::move(text));
  };
  const Recipe& recipe = training.recipe;
  note(training.of_plan() && (training.parameters_away > 0 || training.updates_away > 0),
       "fractions are of chunks, which Gemini fills by its own order; the plan chose whole blocks");
  note(training.of_plan() && training.updates_away > 0 && training.parameters == Tier::kDevice,
       "Gemini's gradients take their parameters' chunks; the plan's leave for host memory");
  note(training.overlaps && training.of_plan(),
       fmt::format("max_prefetch is {} chunks; the plan's buffers hold that many blocks", training.staging_slots - 1));
  note(training.checkpoints != ExportedCheckpoints::kNone,
       "the model checkpoints its blocks: model.gradient_checkpointing_enable()");
  note(training.checkpoints == ExportedCheckpoints::kOperators || training.every > 1,
       "it then keeps the input of every block and nothing else: export --to torch-checkpoint writes what the plan "
       "keeps");
  notes.push_back(
      fmt::format("the training program makes the optimizer ({}, learning rate {}, betas {} and {}, eps {}, weight "
                  "decay {}), the batch of {} and "
                  "the schedule",
                  to_text(recipe.optimizer), recipe.learning_rate, recipe.beta1, recipe.beta2, recipe.epsilon,
                  recipe.weight_decay, recipe.micro_batch));
}

/// Where chunks lie, and in which type.
ordered_json placement(const ExportedTraining& training) {
  const Recipe& recipe = training.recipe;
  const bool bf16 = recipe.precision != Precision::kFp16Mixed;
  return {{"placement_policy", training.automatic_placement ? "auto" : "static"},
          {"enable_gradient_accumulation", recipe.accumulate > 1},
          {"max_prefetch", training.of_plan() && training.overlaps && training.parameters != Tier::kDevice
                               ? training.staging_slots - 1
                               : 0},
          {"shard_param_frac", 1.0},
          {"offload_optim_frac", training.automatic_placement ? 0.0 : training.updates_away},
          {"offload_param_frac", training.automatic_placement ? 0.0 : training.parameters_away},
          {"warmup_non_model_data_ratio", 0.8},
          {"steady_cuda_cap_ratio", 0.9},
          {"precision", bf16 ? "bf16" : "fp16"},
          {"master_weights", recipe.precision != Precision::kBf16},
          {"pin_memory", true},
          {"force_outputs_fp32", false},
          {"strict_ddp_mode", false},
          {"search_range_m", 32},
          {"hidden_dim", training.spec.hidden},
          {"min_chunk_size_m", 32.0},
          {"gpu_margin_mem_ratio", training.automatic_placement ? 1.0 : 0.0}};
}

/// How gradients are scaled and clipped.
ordered_json scaling(const Recipe& recipe) {
  const bool fixed = recipe.loss_scaling.interval == 0;
  return {{"initial_scale", recipe.loss_scaling.start},
          {"min_scale", 1.0},
          {"growth_factor", 2.0},
          {"backoff_factor", 0.5},
          {"growth_interval", fixed ? 1'000'000'000 : recipe.loss_scaling.interval},
          {"hysteresis", 1},
          {"max_scale", 4294967296.0},
          {"max_norm", recipe.clip},
          {"norm_type", 2.0}};
}

/// Other ways to share and to compute.
ordered_json other_ways(const ExportedTraining& training) {
  return {{"tp_size", training.tensor_ranks},
          {"extra_dp_size", 1},
          {"enable_all_optimization", false},
          {"enable_fused_normalization", false},
          {"enable_flash_attention", true},
          {"enable_sequence_parallelism", training.sequence_parallel},
          {"enable_jit_fused", false},
          {"enable_async_reduce", training.overlaps},
          {"use_fp8", false},
          {"verbose", false},
          {"fp8_communication", false}};
}

ordered_json plugin(const ExportedTraining& training) {
  ordered_json all = placement(training);
  all.update(scaling(training.recipe));
  all.update(other_ways(training));
  return all;
}

}  // namespace

Result<ExportedText> gemini_arguments(const ExportedTraining& training) {
  if (const auto goes = check_gemini(training); !goes) return fail(goes.error());
  ExportedText out;
  note_gemini(training, out.notes);
  note_timing(training, "gemini", out.notes);
  note_model(training, out.notes);
  const ordered_json arguments{{"format_version", 1},           {"of", training.origin},
                               {"foretold", training.foretold}, {"world_size", training.gpus()},
                               {"plugin", plugin(training)},    {"notes", out.notes}};
  out.text = arguments.dump(2) + "\n";
  out.script = embedded_exporters("formats/exporters/apply_gemini.py");
  return out;
}

}  // namespace plimsoll
