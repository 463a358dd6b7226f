#include "formats/trainers/shared_keys.h"

#include <fmt/format.h>

#include "core/base/nearest_names.h"
#include "formats/trainers/optimizer_names.h"

namespace plimsoll {
namespace {

/// Transformers' own, where the file says nothing.
constexpr std::int64_t kUsualBatch = 8;

std::string number(double value) { return fmt::format("{:g}", value); }

/// "rank=64, update_proj_gap=100": the rank among an optimizer's arguments.
std::string rank_among(const std::string& arguments) {
  const auto at = arguments.find("rank=");
  if (at == std::string::npos) return "128";
  const auto end = arguments.find_first_not_of("0123456789", at + 5);
  return arguments.substr(at + 5, end == std::string::npos ? end : end - at - 5);
}

void take_optimizer(TrainingFile& file, FileKeys& keys) {
  const auto name = keys.text("optim");
  const std::string arguments = keys.text("optim_args").value_or("");
  keys.pass_over({"optim_target_modules"});
  if (name && !say_optimizer(file, *name, rank_among(arguments))) file.unread.push_back(keys.written("optim"));
}

/// fsdp: "full_shard auto_wrap offload", as text or list.
void take_sharding_words(TrainingFile& file, FileKeys& keys) {
  const std::string words = keys.list("fsdp").value_or("");
  if (words.empty() || words == "false") return;
  file.say("--zero", words.find("grad_op") != std::string::npos ? "2" : "3");
  if (words.find("offload") != std::string::npos) file.offload("params:cpu"), file.offload("optimizer:cpu");
  if (words.find("hybrid") != std::string::npos) file.unread.push_back(keys.written("fsdp"));
}

void take_precision(TrainingFile& file, FileKeys& keys) {
  if (keys.is_set("bf16")) file.products = "bf16";
  if (keys.is_set("fp16")) file.products = "fp16";
  if (keys.is_set("tf32")) file.tf32 = true;
}

void pass_over_others(FileKeys& keys) {
  keys.pass_over_named({"output", "logging", "log_", "save", "eval", "hub_", "push_to", "report_to", "wandb", "dataset", "data_", "lr_", "warmup",
                        "ddp_", "do_", "val_", "adam_", "chat_template", "preprocessing", "overwrite", "max_samples", "run_", "dataloader",
                        "metric", "load_best", "remove_unused", "train_dataset", "swanlab", "ray_", "trackio", "per_device_eval"},
                       {"_num_proc", "_kwargs", "_seed"});
  keys.pass_over({"seed", "learning_rate", "weight_decay", "num_train_epochs", "max_steps", "plot_loss", "template", "trust_remote_code",
                  "resume_from_checkpoint", "group_by_length", "prediction_loss_only", "model_revision", "neftune_noise_alpha", "full_determinism",
                  "length_column_name", "include_num_input_tokens_seen", "include_tokens_per_second", "use_fast_tokenizer", "low_cpu_mem_usage",
                  "ignore_data_skip", "disable_tqdm", "average_tokens_across_devices", "torch_empty_cache_steps"});
}

}  // namespace

void take_transformers(TrainingFile& file, FileKeys& keys, std::string_view key) {
  file.model = keys.text(key).value_or("");
  file.say("--stack", "pytorch");
  file.say("--modules", "huggingface");
}

void say_adapter(TrainingFile& file, const StatedAdapter& adapter) {
  const bool every = adapter.targets.empty() || adapter.targets == "all" || adapter.targets == "all-linear";
  file.say("--lora", every ? std::to_string(adapter.rank) : fmt::format("{}:{}", adapter.rank, adapter.targets));
  if (adapter.alpha) file.say("--lora-alpha", number(*adapter.alpha));
  if (adapter.dropout > 0) file.say("--lora-dropout", number(adapter.dropout));
  if (!adapter.also.empty()) file.say("--train-also", adapter.also);
}

void take_fsdp(TrainingFile& file, FileKeys keys) {
  const auto either = [&](const char* name) { return keys.says(fmt::format("fsdp_{}", name)) ? fmt::format("fsdp_{}", name) : std::string(name); };
  const std::string sharding = keys.text(either("sharding_strategy")).value_or("");
  if (sharding == "SHARD_GRAD_OP" || sharding == "2") file.say("--zero", "2");
  if (sharding == "FULL_SHARD" || sharding == "1") file.say("--zero", "3");
  if (sharding.starts_with("HYBRID")) file.unread.push_back(keys.written(either("sharding_strategy")));
  const std::string reshard = keys.text(either("reshard_after_forward")).value_or("");  // FSDP1 named its strategy here, too
  if (reshard == "false" || reshard == "SHARD_GRAD_OP") file.say("--zero", "2");
  if (keys.is_set(either("offload_params"))) file.offload("params:cpu"), file.offload("optimizer:cpu");
  if (keys.is_set(either("activation_checkpointing"))) file.say("--recompute", "full");
  const std::string cpu_offload = keys.text(either("cpu_offload")).value_or("false");
  if (cpu_offload == "true") file.offload("params:cpu"), file.offload("optimizer:cpu");
  keys.pass_over_named({"fsdp_", "limit_all", "sync_module", "use_orig", "cpu_ram", "auto_wrap", "transformer_layer", "state_dict",
                        "final_state", "backward_prefetch", "forward_prefetch", "version", "min_num", "xla"});
  for (std::string& key : keys.left()) file.unread.push_back(std::move(key));
}

void note_packing(TrainingFile& file) {
  file.notes.emplace_back("packed sequences are full; attention is told over all of each, where it ends with every sample (--packing with --lengths says how long these are)");
}

void say_deepspeed(TrainingFile& file, const std::string& path) {
  file.say("--stack", "deepspeed");
  file.say("--strategy", path);
}

void say_attention(TrainingFile& file, const std::string& name) {
  if (name == "eager" || name == "disabled") file.say("--attention", "eager");
  const std::string key = name_key(name);
  if (key.find("flash") != std::string::npos || key.starts_with("fa")) file.say("--attention", "flash");
}

void take_training_arguments(TrainingFile& file, FileKeys& keys) {
  file.say("--batch", std::to_string(keys.whole("per_device_train_batch_size").value_or(kUsualBatch)));
  if (const auto steps = keys.whole("gradient_accumulation_steps")) file.say("--accumulate", std::to_string(*steps));
  if (const auto clip = keys.real("max_grad_norm")) file.say("--clip", number(*clip));
  take_precision(file, keys);
  take_optimizer(file, keys);
  take_sharding_words(file, keys);
  take_fsdp(file, keys.block("fsdp_config"));
  if (keys.is_set("torch_compile")) file.say("--compile");
  if (const auto path = keys.text("deepspeed")) say_deepspeed(file, *path);
  pass_over_others(keys);
}

}  // namespace plimsoll
