#include <fmt/format.h>

#include "formats/trainers/shared_keys.h"
#include "formats/trainers/trainers.h"

namespace plimsoll {
namespace {

/// Its own, where a file says nothing.
constexpr std::int64_t kUsualLength = 2048, kUsualRank = 8, kUsualProjection = 16;

void take_stage(TrainingFile& file, FileKeys& keys) {
  const std::string stage = keys.text("stage").value_or("sft");
  if (stage == "pt" || stage == "sft") return;
  if (stage != "dpo" && stage != "kto") return keys.refuse("stage", fmt::format("training of stage {} is not told", stage), "told are pt, sft, dpo and kto");
  file.say("--workload", stage);
  const std::string loss = keys.text("pref_loss").value_or("sigmoid");
  if (loss == "orpo" || loss == "simpo") file.say("--reference", "none");
  keys.pass_over_named({"pref_", "kto_"});
  file.notes.push_back(fmt::format("{} is told as TRL's trainer does it, whose head never has all logits; LLaMA-Factory's has", stage));
}

void take_adapter(TrainingFile& file, FileKeys& keys) {
  StatedAdapter adapter;
  adapter.rank = keys.whole("lora_rank").value_or(kUsualRank);
  adapter.targets = keys.list("lora_target").value_or("");
  adapter.alpha = keys.real("lora_alpha");
  adapter.dropout = keys.real("lora_dropout").value_or(0);
  adapter.also = keys.list("additional_target").value_or("");
  say_adapter(file, adapter);
  if (keys.is_set("use_dora")) file.say("--dora");
  keys.pass_over({"use_rslora", "pissa_init", "pissa_iter", "pissa_convert", "loraplus_lr_ratio", "create_new_adapter"});
}

void take_method(TrainingFile& file, FileKeys& keys) {
  const std::string method = keys.text("finetuning_type").value_or("lora");
  if (method != "lora" && method != "full") {
    return keys.refuse("finetuning_type", fmt::format("a training of type {} is not told", method), "told are full and lora");
  }
  if (keys.is_set("use_badam")) return keys.refuse("use_badam", "BAdam trains one block at a time, which is not told", "leave it out for all blocks at once");
  if (method == "lora") take_adapter(file, keys);
  if (const auto bits = keys.whole("quantization_bit", 2)) file.say("--base-bits", std::to_string(*bits));
  if (!keys.flag("double_quantization").value_or(true)) file.say("--double-quant", "no");
  keys.pass_over({"quantization_type"});
}

/// use_galore and use_apollo with their numbers.
void take_projection(TrainingFile& file, FileKeys& keys, const std::string& name) {
  if (!keys.is_set("use_" + name)) return;
  const std::int64_t rank = keys.whole(name + "_rank").value_or(kUsualProjection);
  const bool mini = name == "apollo" && rank == 1;
  file.say("--projection", mini ? "apollo-mini" : fmt::format("{}:{}", name, rank));
  if (keys.is_set(name + "_layerwise")) file.say("--update-in-backward");
  keys.pass_over_named({name + "_"});
}

/// What the loaded model's numbers are of: two bytes beside adapters and where everything is; whole models are trained in fp32.
void take_types(TrainingFile& file, FileKeys& keys) {
  const bool sharded = file.options.contains("--zero") || file.options.contains("--strategy");
  if (keys.is_set("pure_bf16")) file.weights = "bf16", file.products = "no";
  else if (file.products && file.options.contains("--lora") && !sharded) file.weights = file.products;
}

void take_speed(TrainingFile& file, FileKeys& keys) {
  if (const auto attention = keys.text("flash_attn")) say_attention(file, *attention);
  if (keys.is_set("enable_liger_kernel")) file.say("--liger");
  const bool unsloth = keys.is_set("use_unsloth");
  if (unsloth) file.say("--modules", "unsloth");
  const bool checkpoints = !keys.is_set("disable_gradient_checkpointing") && keys.flag("gradient_checkpointing").value_or(true);
  if (checkpoints && !unsloth) file.say("--recompute", "full");  // Unsloth's own wait in host memory
  if (keys.is_set("use_muon")) file.say("--optimizer", "muon");
}

void take_length(TrainingFile& file, FileKeys& keys) {
  const std::int64_t length = keys.whole("cutoff_len").value_or(kUsualLength);
  file.say("--seq", std::to_string(length));
  const bool packed = keys.is_set("packing"), apart = keys.is_set("neat_packing");
  if (apart) note_packing(file);
  if (packed || apart || file.options.contains("--workload")) return;
  file.notes.push_back(fmt::format("every sequence is taken to have {} tokens, cutoff_len; shorter ones take less (--lengths)", length));
}

}  // namespace

bool is_of_llama_factory(const FileKeys& keys) {
  return keys.says("model_name_or_path") && (keys.says("stage") || keys.says("finetuning_type") || keys.says("cutoff_len"));
}

void take_llama_factory(TrainingFile& file, FileKeys& keys) {
  take_transformers(file, keys, "model_name_or_path");
  take_training_arguments(file, keys);
  take_stage(file, keys);
  take_method(file, keys);
  take_projection(file, keys, "galore");
  take_projection(file, keys, "apollo");
  take_types(file, keys);
  take_speed(file, keys);
  take_length(file, keys);
}

}  // namespace plimsoll
