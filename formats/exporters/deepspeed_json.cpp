#include "formats/exporters/deepspeed_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/model/parameters.h"
#include "formats/exporters/deepspeed_optimizer.h"
#include "formats/exporters/refusals.h"

namespace plimsoll {
namespace {

using nlohmann::ordered_json;

std::string_view device_of(Tier tier) { return tier == Tier::kDevice ? "none" : tier == Tier::kHost ? "cpu" : "nvme"; }

std::int64_t largest_tensor(const ExportedTraining& training) {
  std::int64_t largest = 1;
  for (const ParameterGroup& group : lay_out_parameters(training.spec).groups) {
    for (const ParameterTensor& tensor : group.tensors) largest = std::max(largest, tensor.elements());
  }
  return largest;
}

std::int64_t block_elements(const ExportedTraining& training) {
  const ParameterLayout layout = lay_out_parameters(training.spec);
  return layout.at(layout.block(0)).elements;
}

ordered_json precision_blocks(const Recipe& recipe) {
  const bool half = recipe.precision == Precision::kFp16Mixed;
  const bool pure = recipe.precision == Precision::kBf16;
  const LossScaling& scaling = recipe.loss_scaling;
  const bool fixed = scaling.interval == 0;
  return {{"fp16",
           {{"enabled", half},
            {"auto_cast", false},
            {"loss_scale", fixed ? scaling.start : 0.0},
            {"initial_scale_power", static_cast<int>(std::lround(std::log2(std::max(1.0, scaling.start))))},
            {"loss_scale_window", fixed ? 2000 : scaling.interval},
            {"hysteresis", 1},
            {"consecutive_hysteresis", false},
            {"min_loss_scale", 1},
            {"fp16_master_weights_and_grads", false}}},
          {"bf16",
           {{"enabled", recipe.precision == Precision::kBf16Mixed || pure},
            {"immediate_grad_update", false},
            {"check_grad_overflow", false},
            {"bf16_master_weights_and_grads", pure},
            {"bf16_optimizer_states", pure}}}};
}

ordered_json offloaded_optimizer(const ExportedTraining& training) {
  const bool pipelined = training.of_plan() && training.overlaps && training.optimizer == Tier::kSsd;
  return {{"device", device_of(training.optimizer)},
          {"nvme_path", training.nvme},
          {"buffer_count", std::max<std::int64_t>(4, training.of_plan() ? 4 * (training.staging_slots - 1) : 4)},
          {"pin_memory", true},
          {"pipeline_read", pipelined},
          {"pipeline_write", pipelined},
          {"fast_init", false},
          {"ratio", training.updates_away},
          {"super_offload", false},
          {"cpuadam_cores_perc", 0.8}};
}

ordered_json offloaded_parameters(const ExportedTraining& training) {
  return {{"device", device_of(training.parameters)},
          {"nvme_path", training.nvme},
          {"buffer_count", std::max<std::int64_t>(5, training.staging_slots)},
          {"buffer_size", std::max<std::int64_t>(100'000'000, largest_tensor(training))},
          {"max_in_cpu", training.of_plan() ? 0 : 1'000'000'000},
          {"pin_memory", true}};
}

/// Stage 3's prefetching: of a plan as many blocks ahead as it has further staging buffers; of a setup DeepSpeed's
/// defaults.
void add_stage_three(const ExportedTraining& training, ordered_json& zero) {
  const bool plan = training.of_plan();
  zero["sub_group_size"] = 1'000'000'000;
  zero["stage3_prefetch_bucket_size"] = plan ? (training.staging_slots - 1) * block_elements(training) : 50'000'000;
  zero["stage3_param_persistence_threshold"] = plan ? 0 : 100'000;
  zero["stage3_max_live_parameters"] = 1'000'000'000;
  zero["stage3_max_reuse_distance"] = plan ? 0 : 1'000'000'000;
  zero["stage3_gather_16bit_weights_on_model_save"] = true;
  zero["stage3_module_granularity_threshold"] = 0;
}

ordered_json zero_block(const ExportedTraining& training, int stage) {
  ordered_json zero{{"stage", stage},
                    {"contiguous_gradients", true},
                    {"reduce_scatter", true},
                    {"reduce_bucket_size", training.reduce_bucket},
                    {"allgather_partitions", true},
                    {"allgather_bucket_size", 500'000'000},
                    {"overlap_comm", training.overlaps},
                    {"round_robin_gradients", false},
                    {"load_from_fp32_weights", true},
                    {"elastic_checkpoint", false},
                    {"ignore_unused_parameters", true}};
  if (training.optimizer != Tier::kDevice) zero["offload_optimizer"] = offloaded_optimizer(training);
  if (training.parameters != Tier::kDevice) zero["offload_param"] = offloaded_parameters(training);
  if (stage == 3) add_stage_three(training, zero);
  if (training.selected_share > 0) {
    zero["zenflow"] = {
        {"topk_ratio", training.selected_share},    {"select_strategy", "step"}, {"select_interval", 1},
        {"update_interval", training.update_every}, {"overlap_step", true},      {"full_warm_up_rounds", 0}};
  }
  return zero;
}

/// How many checkpoints the model makes. What they keep is the model's to decide: DeepSpeed's own function keeps inputs
/// alone.
ordered_json checkpoint_block(const ExportedTraining& training) {
  const bool some = training.checkpoints != ExportedCheckpoints::kNone;
  const std::int64_t every = training.checkpoints == ExportedCheckpoints::kBlocks ? training.every : 1;
  return {{"partition_activations", false},
          {"cpu_checkpointing", training.activations == Tier::kHost},
          {"contiguous_memory_optimization", false},
          {"number_checkpoints", some ? ordered_json((training.spec.blocks() + every - 1) / every) : ordered_json()},
          {"synchronize_checkpoint_boundary", false},
          {"profile", false}};
}

Result<void> check_deepspeed(const ExportedTraining& training) {
  const TargetReach reach{
      .who = "deepspeed", .parameters = Tier::kSsd, .optimizer = Tier::kSsd, .activations = Tier::kHost};
  if (const auto goes = check_reach(training, reach); !goes) return goes;
  if (training.tensor_ranks * training.stages * training.context_ranks > 1) {
    return cannot_export("DeepSpeed's configuration does not cut layers or make stages: Megatron's arguments do",
                         "leave --tp, --pp and --cp out");
  }
  if (training.recipe.precision == Precision::kBf16 && deepspeed_stage(training) == 0) {
    return cannot_export("deepspeed keeps states in bf16 with ZeRO alone",
                         "add --zero 1, or take --precision bf16-mixed");
  }
  if (training.gradients != Tier::kDevice && training.optimizer == Tier::kDevice) {
    return cannot_export("deepspeed's gradients leave the device only for an optimizer that is not there",
                         "offload the optimizer, too");
  }
  if (training.parameters != Tier::kDevice && training.optimizer == Tier::kDevice && training.of_plan()) {
    return cannot_export("deepspeed's ZeRO-3 updates parameters where they wait",
                         "choose a strategy that moves the optimizer, too");
  }
  return {};
}

void note_memory(const ExportedTraining& training, int stage, std::vector<std::string>& notes) {
  const auto note = [&](bool applies, std::string text) {
    if (applies) notes.push_back(std::move(text));
  };
  const bool plan = training.of_plan();
  note(plan && stage > training.zero && training.data_ranks == 1,
       fmt::format("ZeRO-{} on one GPU shares nothing out: it is the stage whose offloading does what the plan does",
                   stage));
  note(training.updates_away < 1 && training.optimizer != Tier::kDevice,
       fmt::format("ratio {:.3f} of the updates is the CPU's (Twin-Flow, ZeRO-3 only): DeepSpeed chooses which, the "
                   "plan chose whole blocks",
                   training.updates_away));
  note(training.parameters != Tier::kDevice && training.parameters_away < 1,
       fmt::format("{:.1f} % of the parameters stay on the device in the plan; DeepSpeed keeps small tensors or none "
                   "(stage3_param_persistence_threshold)",
                   100 * (1 - training.parameters_away)));
  note(training.states_in_host > 0,
       fmt::format("{:.1f} % of the states stay in host memory in the plan; all of DeepSpeed's go to the drive",
                   100 * training.states_in_host));
  note(plan && training.optimizer == Tier::kSsd && training.parameters == Tier::kDevice,
       "states on NVMe need ZeRO-3, whose parameters stay on the device here");
  note(training.optimizer == Tier::kSsd || training.parameters == Tier::kSsd,
       fmt::format("nvme_path is {}: name the drive's folder with --nvme-path; DeepSpeed needs libaio", training.nvme));
  note(training.checkpoints == ExportedCheckpoints::kOperators,
       "which operators of a block are kept is the model's to say: export --to torch-checkpoint writes it");
  note(training.checkpoints == ExportedCheckpoints::kSelective,
       "selective recomputation is the model's to do: export --to torch-checkpoint of --stack pytorch writes it");
  note(training.checkpoints == ExportedCheckpoints::kBlocks,
       fmt::format("the model checkpoints {}, with deepspeed.checkpointing.checkpoint or gradient_checkpointing_enable()",
                   training.every == 1 ? "every block" : fmt::format("every {} blocks", training.every)));
}

void note_numbers(const ExportedTraining& training, std::vector<std::string>& notes) {
  const Recipe& recipe = training.recipe;
  if (recipe.precision == Precision::kTf32)
    notes.push_back("tf32 is torch.backends.cuda.matmul.allow_tf32, which the training program sets");
  if (recipe.precision == Precision::kBf16)
    notes.push_back("bf16 states need DeepSpeed 0.18 or newer (bf16_master_weights_and_grads)");
  if (recipe.precision == Precision::kFp16Mixed && recipe.loss_scaling.interval == 0) return;
  if (recipe.precision == Precision::kFp16Mixed)
    notes.push_back("the loss scale halves at the first overflow, as PyTorch's does (hysteresis 1)");
}

}  // namespace

int deepspeed_stage(const ExportedTraining& training) {
  if (!training.of_plan()) return training.zero;
  const bool split_update = training.optimizer != Tier::kDevice && training.updates_away < 1;
  if (training.parameters != Tier::kDevice || training.optimizer == Tier::kSsd || split_update) return 3;
  const bool shares_states = training.recipe.precision == Precision::kBf16;  // bf16_optimizer_states is ZeRO's
  return training.optimizer == Tier::kHost ? 2 : std::max(training.zero, shares_states ? 1 : 0);
}

Result<ExportedText> deepspeed_json(const ExportedTraining& training) {
  const int stage = deepspeed_stage(training);
  if (const auto goes = check_deepspeed(training); !goes) return fail(goes.error());
  ExportedText out;
  const auto optimizer = deepspeed_optimizer(training, out.notes);
  if (!optimizer) return fail(optimizer.error());
  const Recipe& recipe = training.recipe;
  ordered_json config{{"train_batch_size", training.global_batch()},
                      {"train_micro_batch_size_per_gpu", recipe.micro_batch},
                      {"gradient_accumulation_steps", recipe.accumulate},
                      {"gradient_clipping", recipe.clip},
                      {"steps_per_print", 10},
                      {"wall_clock_breakdown", false},
                      {"zero_allow_untested_optimizer", true},
                      {"zero_force_ds_cpu_optimizer", training.optimizer != Tier::kDevice && optimizer->on_cpu}};
  config["optimizer"] = ordered_json::parse(optimizer->optimizer);
  if (!optimizer->scheduler.empty()) config["scheduler"] = ordered_json::parse(optimizer->scheduler);
  config.update(precision_blocks(recipe));
  config["data_types"] = {{"grad_accum_dtype", recipe.precision == Precision::kBf16 ? "bf16" : "fp32"}};
  config["zero_optimization"] = zero_block(training, stage);
  config["activation_checkpointing"] = checkpoint_block(training);
  config["aio"] = {{"block_size", 1048576},  {"queue_depth", 8},       {"intra_op_parallelism", 1},
                   {"single_submit", false}, {"overlap_events", true}, {"use_gds", false}};
  note_memory(training, stage, out.notes);
  note_numbers(training, out.notes);
  note_timing(training, "deepspeed", out.notes);
  note_model(training, out.notes);
  config["notes"] = out.notes;
  out.text = config.dump(2) + "\n";
  return out;
}

}  // namespace plimsoll
