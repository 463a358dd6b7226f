#include <fmt/format.h>

#include "formats/models/resolve_model.h"
#include "formats/trainers/optimizer_names.h"
#include "formats/trainers/shared_keys.h"
#include "formats/trainers/trainers.h"

namespace plimsoll {
namespace {

constexpr std::string_view kModels = "torchtune.models.";
constexpr std::int64_t kChunks = 8, kUsualRank = 8;  // of its chunked losses and its adapters' files

bool is_number(std::string_view word) { return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos; }

/// Names with every underscore between digits once as a point and once as a hyphen: "qwen3_0_6b" is qwen3-0.6b, "qwen2_5_7b" qwen2.5-7b.
std::vector<std::string> spellings(std::string_view name) {
  std::vector<std::string> made{""};
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool joins = name[i] == '_', between = joins && i > 0 && i + 1 < name.size() && is_number(name.substr(i - 1, 1)) && is_number(name.substr(i + 1, 1));
    std::vector<std::string> more;
    for (const std::string& begun : made) {
      if (between) more.push_back(begun + '.');
      more.push_back(begun + (joins ? '-' : name[i]));
    }
    made = std::move(more);
    if (made.size() > 64) break;
  }
  return made;
}

/// "torchtune.models.llama3_1.qlora_llama3_1_8b" as a model here.
std::string model_of(std::string component) {
  std::string name = component.substr(component.rfind('.') + 1);
  for (const std::string_view kind : {"qlora_", "lora_"}) {
    if (name.starts_with(kind)) name.erase(0, kind.size());
  }
  for (std::string& spelling : spellings(name)) {
    if (resolve_model(spelling)) return std::move(spelling);
  }
  return name;
}

void take_model(TrainingFile& file, FileKeys keys) {
  const std::string component = keys.text("_component_").value_or("");
  file.model = model_of(component);
  const bool encoded = component.find(".qlora_") != std::string::npos || keys.is_set("quantize_base");
  if (encoded) file.say("--base-bits", "4");
  if (encoded || component.find(".lora_") != std::string::npos) {
    StatedAdapter adapter;
    adapter.rank = keys.whole("lora_rank").value_or(kUsualRank);
    adapter.targets = keys.list("lora_attn_modules").value_or("");
    if (const auto at = adapter.targets.find("output_proj"); at != std::string::npos) adapter.targets.replace(at, 11, "o_proj");
    if (keys.is_set("apply_lora_to_mlp")) adapter.targets += ",gate,up,down";
    adapter.alpha = keys.real("lora_alpha");
    adapter.dropout = keys.real("lora_dropout").value_or(0);
    say_adapter(file, adapter);
  }
  if (keys.is_set("use_dora")) file.say("--dora");
  for (std::string& key : keys.left()) file.unread.push_back(std::move(key));
}

void take_optimizer(TrainingFile& file, FileKeys keys) {
  const std::string component = keys.text("_component_").value_or("torch.optim.AdamW");
  std::string name = component.substr(component.rfind('.') + 1);
  if (name.starts_with("CPUOffloadOptimizer")) name.clear();
  if (!say_optimizer(file, name)) file.unread.push_back("optimizer/" + keys.written("_component_"));
  if (keys.is_set("fused")) file.say("--optimizer-loop", "fused");
  keys.pass_over({"lr", "weight_decay", "betas", "eps"});
  for (std::string& key : keys.left()) file.unread.push_back(std::move(key));
}

void take_memory(TrainingFile& file, FileKeys& keys) {
  if (keys.is_set("enable_activation_checkpointing")) file.say("--recompute", "full");
  if (keys.is_set("enable_activation_offloading")) file.offload("activations:cpu");
  if (keys.is_set("optimizer_in_bwd")) file.say("--update-in-backward");
  if (keys.text("ac_mode").value_or("None") == "selective") file.say("--recompute", fmt::format("every:{}", keys.whole("ac_option").value_or(1)));
  keys.pass_over({"ac_option"});
  FileKeys loss = keys.block("loss");
  const std::string kind = loss.text("_component_").value_or("");
  const bool chunks = kind.find("Chunked") != std::string::npos || kind.find("LinearCrossEntropy") != std::string::npos;
  if (kind.find("rlhf") != std::string::npos) keys.refuse("loss", fmt::format("trainings with {} are not told", kind), "--workload dpo tells TRL's, of --modules huggingface");
  if (chunks) file.say("--loss-chunks", std::to_string(loss.whole("num_output_chunks").value_or(kChunks)));
}

/// Keys that only its recipes for several GPUs read.
void take_sharing(TrainingFile& file, FileKeys& keys) {
  const bool offloads = keys.is_set("fsdp_cpu_offload");
  const bool reshards = keys.flag("fsdp_reshard_after_forward").value_or(true);
  const bool shards = keys.says("fsdp_cpu_offload") || keys.says("fsdp_reshard_after_forward") || keys.says("custom_sharded_layers") ||
                      keys.says("tensor_parallel_dim");
  if (shards) file.say("--zero", reshards ? "3" : "2");
  if (offloads) file.offload("params:cpu"), file.offload("optimizer:cpu");
  if (const auto ranks = keys.whole("tensor_parallel_dim"); ranks && *ranks > 1) file.say("--tp", std::to_string(*ranks));
  keys.pass_over({"custom_sharded_layers", "tensor_parallel_plan", "data_parallel_shard_dim", "data_parallel_replicate_dim", "memory_efficient_fsdp_wrap"});
}

void take_length(TrainingFile& file, FileKeys& keys) {
  FileKeys dataset = keys.block("dataset");
  const bool packed = dataset.is_set("packed");
  if (const auto length = keys.block("tokenizer").whole("max_seq_len")) file.say("--seq", std::to_string(*length));
  else file.notes.push_back("the file names no longest sequence (tokenizer/max_seq_len): say it with --seq");
  if (!packed) file.notes.push_back("every sequence is taken to be as long as the longest; shorter ones take less (--lengths)");
}

}  // namespace

bool is_of_torchtune(const FileKeys& keys) { return keys.component_of("model").starts_with(kModels); }

void take_torchtune(TrainingFile& file, FileKeys& keys) {
  file.say("--stack", "pytorch");
  file.say("--modules", "torchtune");
  take_model(file, keys.block("model"));
  file.say("--batch", std::to_string(keys.whole("batch_size").value_or(1)));
  if (const auto steps = keys.whole("gradient_accumulation_steps")) file.say("--accumulate", std::to_string(*steps));
  file.say("--clip", fmt::format("{:g}", keys.real("clip_grad_norm").value_or(0)));
  if (keys.is_set("compile")) file.say("--compile");
  file.weights = keys.text("dtype").value_or("bf16");
  take_optimizer(file, keys.block("optimizer"));
  take_memory(file, keys);
  take_sharing(file, keys);
  take_length(file, keys);
  keys.pass_over_named({"output_dir", "seed", "shuffle", "checkpointer", "resume", "save", "lr_scheduler", "epochs", "max_steps", "device", "metric_logger",
                        "log_", "profiler", "low_cpu_ram", "run_val", "dataset_val", "batch_size_val", "enable_async", "grad_", "cudnn"});
}

}  // namespace plimsoll
