#include "formats/exporters/refusals.h"

#include <fmt/format.h>

namespace plimsoll {
namespace {

Result<void> check_tier(const std::string& who, std::string_view what, Tier wanted, Tier furthest) {
  if (wanted <= furthest) return {};
  const std::string_view place = wanted == Tier::kHost ? "in host memory" : "on an SSD";
  return cannot_export(fmt::format("{} cannot keep {} {}", who, what, place),
                       "choose a --strategy that does not, or export to a program that can (docs/exporting.md)");
}

std::string_view encoded_base(BaseStorage base) {
  if (base == BaseStorage::kNf4) return "4";
  return base == BaseStorage::kInt8 ? "8" : std::string_view{};
}

}  // namespace

tl::unexpected<Error> cannot_export(std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = "--to", .remedy = std::move(remedy)});
}

Result<void> check_reach(const ExportedTraining& training, const TargetReach& reach) {
  if (training.spec.is_conv_net())
    return cannot_export("a convolutional net has no blocks that these options speak of", "export a transformer");
  if (training.recipe.delay > 0) {
    return cannot_export(fmt::format("{} does not update with the gradients of the step before", reach.who),
                         "choose a --strategy without delay");
  }
  if (training.recipe.precision == Precision::kFp64)
    return cannot_export(fmt::format("{} does not train in fp64", reach.who), "take --precision fp32");
  if (const auto goes = check_tier(reach.who, "parameters", training.parameters, reach.parameters); !goes) return goes;
  if (const auto goes = check_tier(reach.who, "optimizer states", training.optimizer, reach.optimizer); !goes)
    return goes;
  return check_tier(reach.who, "activations", training.activations, reach.activations);
}

void note_timing(const ExportedTraining& training, const std::string& who, std::vector<std::string>& notes) {
  if (!training.of_plan()) return;
  const auto note = [&](bool applies, std::string_view what) {
    if (applies) notes.push_back(fmt::format("{} {}", who, what));
  };
  note(training.update_in_backward,
       "updates after the whole backward pass; the plan updates each block as soon as its gradient is complete");
  note(training.breadth_first, "runs one micro-batch after the other; the plan takes all of them block by block");
  note(!training.overlaps, "overlaps transfers with computation; the plan does not");
  note(training.gradients == Tier::kSsd,
       "keeps no gradients on an SSD of its own accord; they go where the optimizer's states are");
  note(training.activations_away > 0 && training.activations_away < 1,
       "moves the checkpoints of all blocks or of none; the plan moves those of some");
  notes.push_back(
      fmt::format("{} allocates while it runs; the plan's times and peaks are those of plimsoll's own executor", who));
}

void note_model(const ExportedTraining& training, std::vector<std::string>& notes) {
  const ModelSpec& spec = training.spec;
  notes.push_back(
      fmt::format("the training program brings the model ({}: {} blocks, hidden {}) and sequences of {} tokens",
                  spec.name, spec.blocks(), spec.hidden, training.recipe.sequence));
  if (training.recipe.adapter.exists())
    notes.push_back("it also brings the adapters; the options speak of the whole model alone");
  if (const std::string_view bits = encoded_base(training.recipe.adapter.base); !bits.empty())
    notes.push_back(fmt::format("the base is loaded in {} bits, which the program says (BitsAndBytesConfig)", bits));
  if (!training.preferences.empty())
    notes.push_back(fmt::format("{} is TRL's trainer's to bring, with its reference and what writes answers; the options tell how GPUs share the model", training.preferences));
}

}  // namespace plimsoll
