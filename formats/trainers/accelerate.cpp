#include <fmt/format.h>

#include "formats/trainers/shared_keys.h"
#include "formats/trainers/trainers.h"

namespace plimsoll {
namespace {

void take_deepspeed(TrainingFile& file, FileKeys keys) {
  if (const auto path = keys.text("deepspeed_config_file")) return say_deepspeed(file, *path);
  file.say("--stack", "deepspeed");
  if (const auto stage = keys.whole("zero_stage", 0)) file.say("--zero", std::to_string(*stage));
  if (const auto steps = keys.whole("gradient_accumulation_steps")) file.say("--accumulate", std::to_string(*steps));
  if (const auto clip = keys.real("gradient_clipping")) file.say("--clip", fmt::format("{:g}", *clip));
  for (const auto& [key, item] : {std::pair{"offload_optimizer_device", "optimizer"}, std::pair{"offload_param_device", "params"}}) {
    const std::string device = keys.text(key).value_or("none");
    if (device == "cpu" || device == "nvme") file.offload(fmt::format("{}:{}", item, device == "cpu" ? "cpu" : "ssd"));
  }
  keys.pass_over_named({"deepspeed_", "zero3_", "offload_"});
  for (std::string& key : keys.left()) file.unread.push_back(std::move(key));
}

}  // namespace

bool is_of_accelerate(const FileKeys& keys) { return keys.says("distributed_type") || keys.says("compute_environment"); }

void take_accelerate(TrainingFile& file, FileKeys& keys) {
  const std::string kind = keys.text("distributed_type").value_or("NO");
  file.say("--stack", "pytorch");
  if (kind == "FSDP") file.say("--zero", "3"), take_fsdp(file, keys.block("fsdp_config"));
  else if (kind == "DEEPSPEED") take_deepspeed(file, keys.block("deepspeed_config"));
  else if (kind != "NO" && kind != "no" && kind != "false" && kind != "MULTI_GPU") {
    keys.refuse("distributed_type", fmt::format("{} is not read", kind), "read are FSDP, DEEPSPEED, MULTI_GPU and NO");
  }
  const std::string mixed = keys.text("mixed_precision").value_or("no");
  if (mixed == "bf16" || mixed == "fp16") file.products = mixed;
  else if (mixed != "no" && mixed != "false") file.unread.push_back(keys.written("mixed_precision"));
  if (const auto processes = keys.whole("num_processes"); processes && *processes > 1) file.say("--gpus", std::to_string(*processes));
  if (const auto nodes = keys.whole("num_machines"); nodes && *nodes > 1) file.say("--nodes", std::to_string(*nodes));
  FileKeys dynamo = keys.block("dynamo_config");
  if (dynamo.text("dynamo_backend") == "INDUCTOR" || keys.text("dynamo_backend") == "INDUCTOR") file.say("--compile");
  keys.pass_over_named({"main_", "tpu_", "rdzv", "machine_rank", "same_network", "enable_cpu", "gpu_ids", "use_cpu", "compute_environment", "debug",
                        "downcast_bf16", "command_file", "ipex", "fsdp_config", "deepspeed_config"});
}

}  // namespace plimsoll
