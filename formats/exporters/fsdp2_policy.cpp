#include "formats/exporters/fsdp2_policy.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "formats/exporters/embedded_exporters.h"
#include "formats/exporters/refusals.h"
#include "formats/exporters/torch_blocks.h"

namespace plimsoll {
namespace {

using nlohmann::ordered_json;

std::string_view type_name(DType type) {
  switch (type) {
    case DType::kBf16:
      return "bfloat16";
    case DType::kFp16:
      return "float16";
    default:
      return "float32";
  }
}

/// What FSDP gathers and computes in; the shards stay in the state's type.
ordered_json types(Precision precision) {
  const std::string_view compute = type_name(compute_dtype(precision));
  return {{"shard_dtype", type_name(state_dtype(precision))},
          {"param_dtype", compute},
          {"reduce_dtype", type_name(sum_dtype(precision))},
          {"output_dtype", nullptr},
          {"cast_forward_inputs", true}};
}

ordered_json units(const ExportedTraining& training, const TorchBlocks& blocks) {
  ordered_json list = ordered_json::array();
  const bool checkpoints = training.checkpoints == ExportedCheckpoints::kBlocks;
  for (std::int64_t block = 0; block < training.spec.layers; ++block) {
    list.push_back({{"fqn", block_name(blocks, block)},
                    {"reshard_after_forward", reshards(training)},
                    {"checkpoint", checkpoints}});
  }
  return list;
}

}  // namespace

bool reshards(const ExportedTraining& training) {
  return training.of_plan() ? training.parameters != Tier::kDevice : training.zero == 3;
}

bool offloads_shards(const ExportedTraining& training) {
  return training.parameters == Tier::kHost || (training.of_plan() && training.optimizer == Tier::kHost);
}

Result<void> check_fsdp(const ExportedTraining& training, const std::string& who) {
  const TargetReach reach{.who = who, .parameters = Tier::kHost, .optimizer = Tier::kHost, .activations = Tier::kHost};
  if (const auto goes = check_reach(training, reach); !goes) return goes;
  if (training.tensor_ranks * training.stages * training.context_ranks > 1) {
    return cannot_export(fmt::format("{} neither cuts layers nor makes stages", who),
                         "leave --tp, --pp and --cp out, or export to torchtitan or megatron");
  }
  if (torch_blocks(training.spec) == nullptr) {
    return cannot_export(fmt::format("no list of blocks is known of the family {}", to_text(training.spec.family)),
                         "export to deepspeed, which needs none");
  }
  if (training.parameters != Tier::kDevice && training.optimizer == Tier::kDevice && training.of_plan()) {
    return cannot_export(fmt::format("{} updates parameters where they wait", who),
                         "choose a strategy that moves the optimizer, too");
  }
  return {};
}

void note_fsdp(const ExportedTraining& training, std::vector<std::string>& notes) {
  const auto note = [&](bool applies, std::string text) {
    if (applies) notes.push_back(std::move(text));
  };
  const bool plan = training.of_plan();
  note(plan && training.optimizer == Tier::kHost && training.parameters == Tier::kDevice,
       "CPUOffloadPolicy sends parameters to host memory with the states; the plan keeps them on the device");
  note((training.parameters != Tier::kDevice && training.parameters_away < 1) ||
           (training.optimizer != Tier::kDevice && training.updates_away < 1),
       fmt::format(
           "all shards wait in host memory; in the plan {:.1f} % of the parameters and the states of {:.1f} % do",
           100 * training.parameters_away, 100 * training.updates_away));
  note(training.recipe.precision == Precision::kFp16Mixed, "fp16 needs a GradScaler in the training program");
  note(training.checkpoints == ExportedCheckpoints::kOperators ||
           training.checkpoints == ExportedCheckpoints::kSelective,
       "which operators of a block are kept: export --to torch-checkpoint writes it");
  note(plan && training.gpus() == 1,
       "on one GPU FSDP shares nothing out: it moves what waits in host memory and gathers a block at a time");
}

Result<ExportedText> fsdp2_policy(const ExportedTraining& training) {
  if (const auto goes = check_fsdp(training, "FSDP2"); !goes) return fail(goes.error());
  ExportedText out;
  note_fsdp(training, out.notes);
  note_timing(training, "FSDP2", out.notes);
  note_model(training, out.notes);
  const Recipe& recipe = training.recipe;
  const ordered_json policy{
      {"format_version", 1},
      {"of", training.origin},
      {"foretold", training.foretold},
      {"world_size", training.data_ranks},
      {"units", units(training, *torch_blocks(training.spec))},
      {"root", {{"reshard_after_forward", false}}},
      {"mp_policy", types(recipe.precision)},
      {"offload_policy", {{"cpu", offloads_shards(training)}, {"pin_memory", true}}},
      {"checkpoint",
       {{"every", training.every}, {"on_cpu", training.activations == Tier::kHost}, {"preserve_rng_state", true}}},
      {"prefetch", {{"forward", training.staging_slots - 1}, {"backward", training.staging_slots - 1}}},
      {"training",
       {{"micro_batch", recipe.micro_batch},
        {"accumulate", recipe.accumulate},
        {"sequence", recipe.sequence},
        {"clip", recipe.clip},
        {"optimizer", to_text(recipe.optimizer)},
        {"learning_rate", recipe.learning_rate},
        {"betas", {recipe.beta1, recipe.beta2}},
        {"eps", recipe.epsilon},
        {"weight_decay", recipe.weight_decay}}},
      {"notes", out.notes}};
  out.text = policy.dump(2) + "\n";
  out.script = embedded_exporters("formats/exporters/apply_fsdp2.py");
  return out;
}

}  // namespace plimsoll
