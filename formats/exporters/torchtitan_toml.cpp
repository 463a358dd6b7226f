#include "formats/exporters/torchtitan_toml.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/exporters/commented_text.h"
#include "formats/exporters/embedded_exporters.h"
#include "formats/exporters/fsdp2_policy.h"
#include "formats/exporters/refusals.h"

namespace plimsoll {
namespace {

/// torchtitan's own models, by family.
std::string_view model_name(Family family) {
  switch (family) {
    case Family::kQwen3:
      return "qwen3";
    default:
      return "llama3";
  }
}

bool has_model(Family family) { return family == Family::kLlama || family == Family::kQwen3; }

Result<void> check_torchtitan(const ExportedTraining& training) {
  const TargetReach reach{
      .who = "torchtitan", .parameters = Tier::kHost, .optimizer = Tier::kHost, .activations = Tier::kDevice};
  if (const auto goes = check_reach(training, reach); !goes) return goes;
  const Recipe& recipe = training.recipe;
  if (recipe.precision == Precision::kFp16Mixed)
    return cannot_export("torchtitan does not train in fp16", "take --precision bf16-mixed");
  if (recipe.optimizer != OptimizerKind::kAdamW && recipe.optimizer != OptimizerKind::kAdam) {
    return cannot_export(fmt::format("torchtitan has no {}", to_text(recipe.optimizer)),
                         "take --optimizer adamw or adam");
  }
  if (training.parameters != Tier::kDevice && training.optimizer == Tier::kDevice && training.of_plan()) {
    return cannot_export("torchtitan updates parameters where they wait",
                         "choose a strategy that moves the optimizer, too");
  }
  return {};
}

void add_training(const ExportedTraining& training, KeyedLines& lines) {
  const Recipe& recipe = training.recipe;
  const bool pure = recipe.precision == Precision::kBf16;
  const bool half = recipe.precision == Precision::kBf16Mixed || pure;
  lines.section("\n[training]");
  lines.integer("local_batch_size", recipe.micro_batch).integer("global_batch_size", training.global_batch());
  lines.integer("seq_len", recipe.sequence).number("max_norm", recipe.clip > 0 ? recipe.clip : 1e30);
  lines.integer("steps", std::max<std::int64_t>(1, recipe.total_steps > 0 ? recipe.total_steps : 10000));
  lines.flag("enable_cpu_offload", offloads_shards(training)).text("dtype", pure ? "bfloat16" : "float32");
  lines.text("mixed_precision_param", half ? "bfloat16" : "float32").text("mixed_precision_reduce", "float32");
}

void add_optimizer(const ExportedTraining& training, KeyedLines& lines) {
  const Recipe& recipe = training.recipe;
  lines.section("\n[optimizer]").text("name", recipe.optimizer == OptimizerKind::kAdam ? "Adam" : "AdamW");
  lines.number("lr", recipe.learning_rate).number("beta1", recipe.beta1).number("beta2", recipe.beta2);
  lines.number("eps", recipe.epsilon).number("weight_decay", recipe.weight_decay);
  lines.text("implementation", training.of_plan() ? "fused" : training.loop).flag("early_step_in_backward", false);
  lines.section("\n[lr_scheduler]").integer("warmup_steps", recipe.warmup_steps);
  lines.number("decay_ratio", recipe.schedule == LrSchedule::kConstant ? 0.0 : 1.0);
  lines.text("decay_type", recipe.schedule == LrSchedule::kCosine ? "cosine" : "linear").number("min_lr_factor", 0.1);
}

void add_parallelism(const ExportedTraining& training, KeyedLines& lines) {
  const bool shards = training.zero >= 2 || training.of_plan();
  lines.section("\n[parallelism]");
  lines.integer("data_parallel_replicate_degree", shards ? 1 : training.data_ranks);
  lines.integer("data_parallel_shard_degree", shards ? training.data_ranks : 1);
  lines.text("fsdp_reshard_after_forward", reshards(training) ? "always" : "never");
  lines.integer("tensor_parallel_degree", training.tensor_ranks).integer("pipeline_parallel_degree", training.stages);
  lines.text("pipeline_parallel_schedule", training.chunks > 1 ? "Interleaved1F1B" : "1F1B")
      .integer("pipeline_parallel_microbatch_size", 1);
  lines.integer("context_parallel_degree", training.context_ranks).integer("expert_parallel_degree", 1);
}

void add_checkpoints(const ExportedTraining& training, KeyedLines& lines) {
  const ExportedCheckpoints rule = training.checkpoints;
  lines.section("\n[activation_checkpoint]");
  lines.text("mode", rule == ExportedCheckpoints::kNone     ? "none"
                     : rule == ExportedCheckpoints::kBlocks ? "full"
                                                            : "selective");
  lines.text("selective_ac_option", "op").flag("preserve_rng_state", true);
  lines.section("\n[compile]")
      .flag("enable", training.compile)
      .raw("components", R"(["model", "loss"])")
      .text("backend", "inductor");
}

void note_titan(const ExportedTraining& training, std::vector<std::string>& notes) {
  const auto note = [&](bool applies, std::string text) {
    if (applies) notes.push_back(std::move(text));
  };
  const ModelSpec& spec = training.spec;
  note(!has_model(spec.family),
       fmt::format("torchtitan has no model of the family {}: name and flavor are placeholders", to_text(spec.family)));
  notes.push_back(
      fmt::format("model.flavor is one that you register: {} layers, dim {}, {} heads, {} key and value heads, "
                  "feed-forward {}, vocabulary {}",
                  spec.layers, spec.hidden, spec.heads, spec.kv_heads, spec.ffn, spec.vocabulary));
  note_fsdp(training, notes);
  note(training.checkpoints == ExportedCheckpoints::kBlocks && training.every > 1,
       fmt::format("full checkpointing keeps the input of every block; the training keeps that of every {} blocks",
                   training.every));
  note(training.checkpoints == ExportedCheckpoints::kOperators,
       "selective_ac_option 'op' keeps what torchtitan's own list of operators says; export --to torch-checkpoint "
       "writes the plan's");
  note(training.recipe.clip == 0, "torchtitan always clips: max_norm is far beyond any gradient");
  note(training.recipe.total_steps == 0, "training.steps is torchtitan's own 10000: say how many with --steps");
  note(training.recipe.precision == Precision::kTf32,
       "tf32 is torch.backends.cuda.matmul.allow_tf32, which the training program sets");
  note(training.update_in_backward, "early_step_in_backward clips nothing and does not go with fp32 sums; it is off");
}

}  // namespace

Result<ExportedText> torchtitan_toml(const ExportedTraining& training) {
  if (const auto goes = check_torchtitan(training); !goes) return fail(goes.error());
  KeyedLines lines(" = ");
  lines.section("[job]").text("description", training.origin).text("dump_folder", "./outputs");
  lines.section("\n[model]")
      .text("name", model_name(training.spec.family))
      .text("flavor", has_model(training.spec.family) ? training.spec.name : "debugmodel");
  add_training(training, lines);
  add_optimizer(training, lines);
  add_parallelism(training, lines);
  add_checkpoints(training, lines);
  lines.section("\n[debug]").raw("seed", std::to_string(training.recipe.seed)).flag("deterministic", false);
  ExportedText out;
  note_titan(training, out.notes);
  note_timing(training, "torchtitan", out.notes);
  out.text = heading(training, "torchtitan", out.notes) + lines.str();
  out.script = embedded_exporters("formats/exporters/apply_torchtitan.py");
  return out;
}

}  // namespace plimsoll
