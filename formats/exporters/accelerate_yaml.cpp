#include "formats/exporters/accelerate_yaml.h"

#include <fmt/format.h>

#include "formats/exporters/commented_text.h"
#include "formats/exporters/deepspeed_json.h"
#include "formats/exporters/fsdp2_policy.h"
#include "formats/exporters/refusals.h"
#include "formats/exporters/torch_blocks.h"

namespace plimsoll {
namespace {

constexpr std::string_view kYaml = ": ";

std::string_view device_of(Tier tier) { return tier == Tier::kDevice ? "none" : tier == Tier::kHost ? "cpu" : "nvme"; }

std::string_view mixed_precision(Precision precision) {
  if (precision == Precision::kFp16Mixed) return "fp16";
  return precision == Precision::kBf16Mixed || precision == Precision::kBf16 ? "bf16" : "no";
}

KeyedLines common_keys(const ExportedTraining& training, std::string_view kind) {
  KeyedLines lines{std::string(kYaml)};
  lines.text("compute_environment", "LOCAL_MACHINE").text("distributed_type", kind);
  lines.text("mixed_precision", mixed_precision(training.recipe.precision));
  lines.integer("num_processes", training.data_ranks).integer("num_machines", 1).integer("machine_rank", 0);
  lines.text("gpu_ids", "all").text("rdzv_backend", "static").flag("same_network", true);
  lines.text("main_training_function", "main")
      .flag("use_cpu", false)
      .flag("debug", false)
      .flag("enable_cpu_affinity", false);
  lines.text("downcast_bf16", "no");
  return lines;
}

void note_program(const ExportedTraining& training, std::vector<std::string>& notes) {
  const Recipe& recipe = training.recipe;
  notes.push_back(fmt::format(
      "the training program brings the batch ({} sequences a device), the optimizer ({}, learning rate {}) and the "
      "schedule",
      recipe.micro_batch, to_text(recipe.optimizer), recipe.learning_rate));
  if (training.compile) notes.emplace_back("the program compiles the model (torch_compile=True of transformers' Trainer)");
}

void note_loop(const ExportedTraining& training, std::vector<std::string>& notes) {
  notes.push_back(
      fmt::format("accelerate accumulates {} micro-batches and clips at {} where the program says so "
                  "(Accelerator(gradient_accumulation_steps=…), clip_grad_norm_)",
                  training.recipe.accumulate, training.recipe.clip));
}

}  // namespace

Result<ExportedText> accelerate_deepspeed_yaml(const ExportedTraining& training) {
  auto full = deepspeed_json(training);
  if (!full) return full;
  const int stage = deepspeed_stage(training);
  KeyedLines lines = common_keys(training, "DEEPSPEED");
  lines.section("deepspeed_config:").indent(2);
  lines.integer("zero_stage", stage).integer("gradient_accumulation_steps", training.recipe.accumulate);
  lines.number("gradient_clipping", training.recipe.clip);
  lines.text("offload_optimizer_device", device_of(training.optimizer))
      .text("offload_param_device", device_of(training.parameters));
  lines.text("offload_optimizer_nvme_path", training.optimizer == Tier::kSsd ? training.nvme : "none");
  lines.text("offload_param_nvme_path", training.parameters == Tier::kSsd ? training.nvme : "none");
  lines.flag("zero3_init_flag", stage == 3).flag("zero3_save_16bit_model", stage == 3);
  ExportedText out;
  out.notes = std::move(full->notes);
  note_program(training, out.notes);
  out.notes.push_back(
      "accelerate's keys name no buffers, ratios, buckets or drive settings: export --to deepspeed writes them, for "
      "deepspeed_config_file in place of deepspeed_config");
  out.text = heading(training, "accelerate-deepspeed", out.notes) + lines.str();
  return out;
}

Result<ExportedText> accelerate_ddp_yaml(const ExportedTraining& training) {
  const std::string who = "accelerate without sharding";
  if (const auto goes = check_reach(training, {.who = who}); !goes) return fail(goes.error());
  if (training.zero > 0 || training.gpus() > training.data_ranks)
    return cannot_export(fmt::format("{} has every model whole", who), "export to accelerate-fsdp, torchtitan or megatron");
  KeyedLines lines = common_keys(training, training.data_ranks > 1 ? "MULTI_GPU" : "NO");
  ExportedText out;
  note_program(training, out.notes);
  note_loop(training, out.notes);
  if (training.checkpoints == ExportedCheckpoints::kBlocks)
    out.notes.emplace_back("the program turns checkpoints of blocks on (gradient_checkpointing=True of transformers' Trainer)");
  note_timing(training, "accelerate", out.notes);
  note_model(training, out.notes);
  out.text = heading(training, "accelerate-ddp", out.notes) + lines.str();
  return out;
}

Result<ExportedText> accelerate_fsdp_yaml(const ExportedTraining& training) {
  if (const auto goes = check_fsdp(training, "accelerate's FSDP"); !goes) return fail(goes.error());
  const TorchBlocks* blocks = torch_blocks(training.spec);
  KeyedLines lines = common_keys(training, "FSDP");
  lines.section("fsdp_config:").indent(2);
  lines.integer("fsdp_version", 2).flag("fsdp_reshard_after_forward", reshards(training));
  lines.flag("fsdp_offload_params", offloads_shards(training)).text("fsdp_auto_wrap_policy", "TRANSFORMER_BASED_WRAP");
  lines.text("fsdp_transformer_layer_cls_to_wrap", blocks->block_class)
      .text("fsdp_state_dict_type", "SHARDED_STATE_DICT");
  lines.flag("fsdp_cpu_ram_efficient_loading", true);
  lines.flag("fsdp_activation_checkpointing", training.checkpoints == ExportedCheckpoints::kBlocks);
  ExportedText out;
  note_program(training, out.notes);
  note_fsdp(training, out.notes);
  note_loop(training, out.notes);
  if (training.checkpoints == ExportedCheckpoints::kBlocks && training.every > 1) {
    out.notes.push_back(fmt::format(
        "accelerate checkpoints every block; the plan every {} blocks: export --to torch-checkpoint", training.every));
  }
  note_timing(training, "accelerate", out.notes);
  note_model(training, out.notes);
  out.text = heading(training, "accelerate-fsdp", out.notes) + lines.str();
  return out;
}

}  // namespace plimsoll
