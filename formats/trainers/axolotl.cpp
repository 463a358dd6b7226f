#include <fmt/format.h>

#include "formats/trainers/optimizer_names.h"
#include "formats/trainers/shared_keys.h"
#include "formats/trainers/trainers.h"

namespace plimsoll {
namespace {

/// Its own, where a file says nothing.
constexpr std::int64_t kUsualLength = 512;

void take_shape(TrainingFile& file, FileKeys& keys) {
  const std::int64_t length = keys.whole("sequence_len").value_or(kUsualLength);
  file.say("--seq", std::to_string(length));
  if (keys.is_auto("micro_batch_size")) return keys.refuse("micro_batch_size", "no batch is told that is found while it trains", "say a number");
  file.say("--batch", std::to_string(keys.whole("micro_batch_size").value_or(1)));
  if (const auto steps = keys.whole("gradient_accumulation_steps")) file.say("--accumulate", std::to_string(*steps));
  if (const auto clip = keys.real("max_grad_norm")) file.say("--clip", fmt::format("{:g}", *clip));
  const bool packed = keys.is_set("sample_packing"), padded = keys.is_set("pad_to_sequence_len");
  if (packed) note_packing(file);
  if (!packed && !padded) {
    file.notes.push_back(fmt::format("every sequence is taken to have {} tokens, sequence_len; shorter ones take less (--lengths)", length));
  }
}

/// bf16: auto is bf16 on the GPUs that have it. The model is loaded in the type of its mixed precision.
void take_types(TrainingFile& file, FileKeys& keys) {
  const bool automatic = keys.is_auto("bf16");
  const bool bf16 = automatic || keys.is_set("bf16"), whole_bf16 = keys.is_set("bfloat16");
  if (bf16 || whole_bf16) file.weights = "bf16";
  else if (keys.is_set("fp16") || keys.is_set("float16")) file.weights = "fp16", file.products = "fp16";
  if (bf16) file.products = "bf16";
  if (keys.is_set("tf32")) file.tf32 = true;
  keys.pass_over({"fp16", "float16"});
}

void take_adapter(TrainingFile& file, FileKeys& keys) {
  const std::string kind = keys.text("adapter").value_or("");
  const bool eight = keys.is_set("load_in_8bit"), four = keys.is_set("load_in_4bit");
  if (keys.says("unfrozen_parameters")) return keys.refuse("unfrozen_parameters", "layers that are frozen one by one are not told", "leave it out");
  if (kind.empty() || kind == "false") return;
  if (eight && four) return keys.refuse("load_in_8bit", "a model is loaded in 8 or in 4 bits, not in both", "leave one of load_in_8bit and load_in_4bit out");
  if (kind != "lora" && kind != "qlora") return keys.refuse("adapter", fmt::format("adapters of kind {} are not read", kind), "read are lora and qlora; --peft says others");
  StatedAdapter adapter;
  adapter.rank = keys.whole("lora_r").value_or(adapter.rank);
  adapter.targets = keys.list("lora_target_modules").value_or("");
  if (keys.is_set("lora_target_linear")) adapter.targets.clear();
  adapter.alpha = keys.real("lora_alpha");
  adapter.dropout = keys.real("lora_dropout").value_or(0);
  adapter.also = keys.list("lora_modules_to_save").value_or("");
  say_adapter(file, adapter);
  if (keys.is_set("peft_use_dora")) file.say("--dora");
  if (four || kind == "qlora") file.say("--base-bits", "4");
  else if (eight) file.say("--base-bits", "8");
  keys.pass_over({"lora_model_dir", "lora_fan_in_fan_out", "peft_use_rslora"});
}

void take_attention(TrainingFile& file, FileKeys& keys) {
  for (const char* key : {"attention", "attn_implementation"}) {
    if (const auto name = keys.text(key)) say_attention(file, *name);
  }
  if (keys.is_set("eager_attention")) file.say("--attention", "eager");
  if (keys.is_set("xformers_attention")) file.say("--attention", "efficient");
  if (keys.is_set("flash_attention")) file.say("--attention", "flash");
  keys.pass_over({"sdp_attention"});
}

/// gradient_checkpointing: true, or "offload", whose inputs of blocks wait in host memory.
void take_checkpoints(TrainingFile& file, FileKeys& keys) {
  const std::string checkpoints = keys.text("gradient_checkpointing").value_or("false");
  const bool offloads = checkpoints.starts_with("offload") || checkpoints == "unsloth" || keys.is_set("activation_offloading");
  if (checkpoints != "false") file.say("--recompute", "full");
  if (offloads) file.offload("activations:cpu");
}

/// Liger's kernels are one choice here.
void take_kernels(TrainingFile& file, FileKeys& keys) {
  bool liger = false;
  for (const char* key : {"liger_rope", "liger_rms_norm", "liger_glu_activation", "liger_swiglu", "liger_layer_norm", "liger_fused_linear_cross_entropy", "liger_cross_entropy"}) {
    liger = keys.is_set(key) || liger;
  }
  if (liger) file.say("--liger");
  if (keys.is_set("torch_compile")) file.say("--compile");
  if (keys.is_set("tiled_mlp")) file.say("--tiled-mlp");
  keys.pass_over_named({"torch_compile_"});
}

void take_sharing(TrainingFile& file, FileKeys& keys) {
  if (const auto path = keys.text("deepspeed")) say_deepspeed(file, *path);
  const std::string words = keys.list("fsdp").value_or("");
  const bool shards = !words.empty() || keys.says("fsdp_version") || keys.says("fsdp_config");
  FileKeys fsdp = keys.block("fsdp_config");
  if (shards) file.say("--zero", "3"), take_fsdp(file, fsdp);
  if (const auto ranks = keys.whole("tensor_parallel_size"); ranks && *ranks > 1) file.say("--tp", std::to_string(*ranks));
  for (const char* key : {"context_parallel_size", "sequence_parallel_degree"}) {
    if (const auto ranks = keys.whole(key); ranks && *ranks > 1) file.say("--cp", std::to_string(*ranks));
  }
  keys.pass_over({"fsdp_version", "fsdp_final_state_dict_type"});
}

void take_method(TrainingFile& file, FileKeys& keys) {
  if (keys.is_set("reward_model")) return keys.refuse("reward_model", "reward models are not told");
  const std::string method = keys.text("rl").value_or("");
  if (method.empty() || method == "false") return;
  const bool pairs = method == "dpo" || method == "ipo" || method == "orpo" || method == "simpo";
  if (!pairs && method != "kto") return keys.refuse("rl", fmt::format("training by {} is not read", method), "read are dpo, ipo, orpo, simpo and kto; --workload grpo says that of TRL");
  file.say("--workload", method == "kto" ? "kto" : "dpo");
  if (method == "orpo" || method == "simpo") file.say("--reference", "none");
  keys.pass_over_named({"rl_", "kto_", "orpo_", "dpo_"});
}

void pass_over_others(FileKeys& keys) {
  keys.pass_over_named({"wandb", "mlflow", "dataset", "datasets", "test_dataset", "output", "val_", "eval", "evals", "save", "saves", "hub_", "tokenizer", "model_type",
                        "lr_", "warmup", "chat_template", "logging", "loss_watchdog", "push_", "adam_", "shuffle", "train_on", "early_", "plugins",
                        "sample_pack", "comet", "special", "resume", "trust_", "dataloader", "roles", "field_", "cosine_"},
                       {"_seed", "_kwargs"});
  keys.pass_over({"seed", "learning_rate", "weight_decay", "num_epochs", "max_steps", "strict", "debug", "local_rank", "group_by_length",
                  "tokens", "default_system_message", "is_llama_derived_model", "is_mistral_derived_model", "ddp_timeout", "neftune_noise_alpha",
                  "auto_resume_from_checkpoints", "pretraining_dataset", "revision_of_model"});
}

}  // namespace

bool is_of_axolotl(const FileKeys& keys) { return keys.says("base_model"); }

void take_axolotl(TrainingFile& file, FileKeys& keys) {
  take_transformers(file, keys, "base_model");
  take_shape(file, keys);
  take_types(file, keys);
  take_adapter(file, keys);
  take_attention(file, keys);
  take_checkpoints(file, keys);
  take_kernels(file, keys);
  take_sharing(file, keys);
  take_method(file, keys);
  if (const auto name = keys.text("optimizer"); name && !say_optimizer(file, *name)) file.unread.push_back(keys.written("optimizer"));
  pass_over_others(keys);
}

}  // namespace plimsoll
