#include <fmt/format.h>

#include "formats/trainers/shared_keys.h"
#include "formats/trainers/trainers.h"

namespace plimsoll {
namespace {

/// Its own, where a file says nothing.
constexpr std::int64_t kUsualLength = 1024, kUsualRank = 16, kUsualPrompt = 512, kUsualAnswer = 256;

std::string type_of(const std::string& name) {
  return name == "bfloat16" ? "bf16" : name == "float16" ? "fp16" : name == "float32" ? "fp32" : name;
}

void take_adapter(TrainingFile& file, FileKeys& keys) {
  const bool four = keys.is_set("load_in_4bit"), eight = keys.is_set("load_in_8bit");
  const bool adapted = keys.is_set("use_peft") || keys.says("lora_r") || four || eight;
  if (!adapted) return;
  StatedAdapter adapter;
  adapter.rank = keys.whole("lora_r").value_or(kUsualRank);
  adapter.targets = keys.list("lora_target_modules").value_or("q,v");  // PEFT's own of most families
  adapter.alpha = keys.real("lora_alpha");
  adapter.dropout = keys.real("lora_dropout").value_or(0);
  adapter.also = keys.list("lora_modules_to_save").value_or("");
  say_adapter(file, adapter);
  if (keys.is_set("use_dora")) file.say("--dora");
  if (four || eight) file.say("--base-bits", four ? "4" : "8");
  if (four && !keys.flag("use_bnb_nested_quant").value_or(false)) file.say("--double-quant", "no");
  keys.pass_over({"lora_task_type", "bnb_4bit_compute_dtype", "bnb_4bit_quant_type", "use_rslora"});
}

/// The trainer is not in its files: GRPO's alone have num_generations; of others DPO's have a beta.
void take_method(TrainingFile& file, FileKeys& keys) {
  const auto prompt = keys.whole("max_prompt_length");
  if (keys.says("num_generations")) {
    const std::int64_t before = prompt.value_or(kUsualPrompt), answer = keys.whole("max_completion_length").value_or(kUsualAnswer);
    file.say("--workload", "grpo");
    file.say("--prompt", std::to_string(before));
    file.say("--seq", std::to_string(before + answer));
    if (keys.is_set("use_vllm")) {
      const bool beside = keys.text("vllm_mode").value_or("server") == "colocate";
      file.say("--rollout", beside ? fmt::format("vllm:{:g}", keys.real("vllm_gpu_memory_utilization").value_or(0.3)) : "elsewhere");
    }
    if (keys.real("beta").value_or(0) > 0) file.say("--reference", file.options.contains("--lora") ? "adapters-off" : "copy");
    keys.pass_over_named({"num_generations", "vllm_", "reward", "temperature", "top_", "num_iterations", "epsilon", "max_"});
    return;
  }
  if (!keys.says("beta")) return;
  file.say("--workload", "dpo");
  if (keys.is_set("precompute_ref_log_probs")) file.say("--reference", "precomputed");
  keys.pass_over_named({"beta", "loss_type", "label_smoothing", "max_completion", "rpo_"});
  file.notes.push_back("a file with beta is taken to be DPO's; --workload says another");
}

void take_length(TrainingFile& file, FileKeys& keys) {
  std::int64_t length = kUsualLength;
  for (const char* key : {"max_seq_length", "max_length"}) length = keys.whole(key).value_or(length);
  if (file.options.contains("--seq")) return;
  file.say("--seq", std::to_string(length));
  if (keys.is_set("packing")) return note_packing(file);
  if (file.options.contains("--workload")) return;
  file.notes.push_back(fmt::format("every sequence is taken to have {} tokens, max_length; shorter ones take less (--lengths)", length));
}

void take_checkpoints(TrainingFile& file, FileKeys& keys) {
  const bool said = keys.says("gradient_checkpointing");
  if (keys.flag("gradient_checkpointing").value_or(true)) file.say("--recompute", "full");
  if (!said) file.notes.push_back("nothing is said of gradient_checkpointing: TRL's trainers have it on since 0.20, transformers' off (--recompute none)");
  if (keys.is_set("activation_offloading")) file.offload("activations:cpu");
}

}  // namespace

bool is_of_trl(const FileKeys& keys) {
  return keys.says("model_name_or_path") || keys.says("per_device_train_batch_size");
}

void take_trl(TrainingFile& file, FileKeys& keys) {
  take_transformers(file, keys, "model_name_or_path");
  take_training_arguments(file, keys);
  for (const char* key : {"torch_dtype", "dtype"}) {
    if (const auto type = keys.text(key)) file.weights = type_of(*type);
  }
  if (const auto attention = keys.text("attn_implementation")) say_attention(file, *attention);
  for (const char* key : {"use_liger_kernel", "use_liger", "use_liger_loss"}) {
    if (keys.is_set(key)) file.say("--liger");
  }
  if (const auto processes = keys.whole("num_processes"); processes && *processes > 1) file.say("--gpus", std::to_string(*processes));
  take_adapter(file, keys);
  take_method(file, keys);
  take_length(file, keys);
  take_checkpoints(file, keys);
}

}  // namespace plimsoll
