#include "formats/exporters/export_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/base/nearest_names.h"
#include "formats/exporters/accelerate_yaml.h"
#include "formats/exporters/checkpoint_policy.h"
#include "formats/exporters/deepspeed_json.h"
#include "formats/exporters/fsdp2_policy.h"
#include "formats/exporters/gemini_arguments.h"
#include "formats/exporters/megatron_arguments.h"
#include "formats/exporters/refusals.h"
#include "formats/exporters/torchtitan_toml.h"

namespace plimsoll {
namespace {

struct KnownTarget {
  ExportTarget target;
  std::string_view name;
  std::string_view ending;
  Result<ExportedText> (*write)(const ExportedTraining&);
  ExportSource takes;  ///< the setups that it takes, besides plans
};

constexpr std::array<KnownTarget, 9> kTargets{{
    {ExportTarget::kDeepspeed, "deepspeed", ".json", deepspeed_json, ExportSource::kDeepspeed},
    {ExportTarget::kAccelerateDeepspeed, "accelerate-deepspeed", ".yaml", accelerate_deepspeed_yaml,
     ExportSource::kDeepspeed},
    {ExportTarget::kAccelerateFsdp, "accelerate-fsdp", ".yaml", accelerate_fsdp_yaml, ExportSource::kPytorch},
    {ExportTarget::kAccelerateDdp, "accelerate-ddp", ".yaml", accelerate_ddp_yaml, ExportSource::kPytorch},
    {ExportTarget::kFsdp2, "fsdp2", ".json", fsdp2_policy, ExportSource::kPytorch},
    {ExportTarget::kTorchCheckpoint, "torch-checkpoint", ".py", checkpoint_policy, ExportSource::kPytorch},
    {ExportTarget::kMegatron, "megatron", ".sh", megatron_arguments, ExportSource::kMegatron},
    {ExportTarget::kGemini, "gemini", ".json", gemini_arguments, ExportSource::kColossalai},
    {ExportTarget::kTorchtitan, "torchtitan", ".toml", torchtitan_toml, ExportSource::kPytorch},
}};

constexpr std::string_view kEitherKind = "accelerate";

const KnownTarget& known(ExportTarget target) { return kTargets[static_cast<std::size_t>(target)]; }

std::string_view stack_of(ExportSource source) {
  constexpr std::string_view kStacks[] = {"plimsoll", "pytorch", "deepspeed", "colossalai", "megatron"};
  return kStacks[static_cast<std::size_t>(source)];
}

bool moves_anything(const ExportedTraining& training) {
  return training.parameters != Tier::kDevice || training.optimizer != Tier::kDevice;
}

}  // namespace

std::string_view to_text(ExportTarget target) { return known(target).name; }
std::string_view file_ending(ExportTarget target) { return known(target).ending; }

std::string export_target_names() {
  std::string names(kEitherKind);
  for (const KnownTarget& target : kTargets) names += fmt::format(", {}", target.name);
  return names;
}

Result<void> check_export_target(std::string_view text) {
  std::vector<std::string> names{std::string(kEitherKind)};
  for (const KnownTarget& target : kTargets) names.emplace_back(target.name);
  if (std::find(names.begin(), names.end(), text) != names.end()) return {};
  const auto near = near_names(text, names);
  return fail({.kind = ErrorKind::kUnknownName,
               .what = fmt::format("'{}' is no program that plans are exported to", text),
               .where = "--to",
               .remedy = near.empty() ? "choose one of " + export_target_names() : did_you_mean(text, near)});
}

Result<ExportTarget> parse_export_target(std::string_view text, const ExportedTraining& training) {
  if (const auto goes = check_export_target(text); !goes) return fail(goes.error());
  if (text == kEitherKind) {
    const bool deepspeed =
        training.source == ExportSource::kDeepspeed || (training.of_plan() && moves_anything(training));
    if (deepspeed) return ExportTarget::kAccelerateDeepspeed;
    const bool whole = training.zero == 0 && training.gpus() == training.data_ranks && training.activations == Tier::kDevice && !moves_anything(training);
    return whole ? ExportTarget::kAccelerateDdp : ExportTarget::kAccelerateFsdp;
  }
  for (const KnownTarget& target : kTargets) {
    if (target.name == text) return target.target;
  }
  return ExportTarget::kDeepspeed;
}

Result<ExportedText> export_training(ExportTarget target, const ExportedTraining& training) {
  const KnownTarget& to = known(target);
  if (!training.of_plan() && training.source != to.takes) {
    return cannot_export(
        fmt::format("a setup of {} cannot be told to {}", stack_of(training.source), to.name),
        fmt::format("take --stack {}, or leave --stack out to export a plan of plimsoll's", stack_of(to.takes)));
  }
  auto text = to.write(training);
  if (text && training.updates_visit > 0 && target != ExportTarget::kTorchCheckpoint) {
    text->notes.push_back(fmt::format("in the plan the GPU updates {:.1f} % of the parameters from states that wait elsewhere; "
                                      "here the CPU does, which takes another time",
                                      100 * training.updates_visit));
  }
  return text;
}

}  // namespace plimsoll
