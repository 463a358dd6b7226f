#include "sim/stack/check_adapters.h"

#include <fmt/format.h>

#include "sim/stack/modules/module_rules.h"

namespace plimsoll {
namespace {

using Method = AdapterMethod;

tl::unexpected<Error> refused(std::string what, std::string remedy, std::string where = "--peft") {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = std::move(where), .remedy = std::move(remedy)});
}

std::string asked_for(const AdapterSetup& adapter) {
  if (adapter.method == Method::kLora) return "a trained copy of " + copies_text(adapter);
  return std::string(to_text(adapter.method));
}

Result<void> check_program(const ModelSpec& spec, const StackSetup& setup) {
  const bool trains_modules = setup.stack == Stack::kPytorch || setup.stack == Stack::kDeepspeed || setup.stack == Stack::kColossalai;
  const std::string what = asked_for(setup.adapter);
  if (!trains_modules || cuts_layers(setup)) {
    return refused(fmt::format("{} is PEFT's, which {} does not train", what, to_text(setup.stack)), "add --stack pytorch");
  }
  if (setup.modules != ModuleStyle::kHuggingFace) {
    return refused(fmt::format("{} is modelled as PEFT has it in transformers' modules, not in {}'s", what, to_text(setup.modules)),
                   "add --modules huggingface, or take --lora alone");
  }
  const bool tokens_alone = spec.reads_images() || spec.positions == PositionKind::kDistance || spec.adaptive.exists();
  if (tokens_alone) return refused(fmt::format("{} is not modelled in {}", what, spec.name), "take --lora alone");
  return {};
}

/// GPT-2's layers are Conv1D, which PEFT's LyCORIS layers do not know.
Result<void> check_layers(const ModelSpec& spec, const AdapterSetup& adapter) {
  const bool lycoris = adapter.method == Method::kLoha || adapter.method == Method::kLokr;
  if (!lycoris || spec.family != Family::kGpt2) return {};
  return refused(fmt::format("PEFT's {} knows linear layers, and {}'s are Conv1D", to_text(adapter.method), spec.name), "take --lora");
}

Result<void> check_types(const Recipe& recipe, const StackSetup& setup) {
  const AdapterSetup& adapter = setup.adapter;
  if (is_encoded(recipe.adapter) && adapter.method != Method::kLora && adapter.method != Method::kDora) {
    return refused(fmt::format("{} beside a base of 4 or 8 bits is not modelled", to_text(adapter.method)), "leave --base-bits out, or take --lora");
  }
  const bool copies = adapter.copies_embedding || adapter.copies_head || adapter.method == Method::kNorms;
  const bool scaled = recipe.precision == Precision::kFp16Mixed && setup.stack == Stack::kPytorch;
  const bool narrow = copies && scaled && !(is_encoded(recipe.adapter) && prepares_kbit(setup));
  if (!narrow) return {};
  return refused("PyTorch scales no gradients that are in fp16, and copies of a model's modules have its type", "add --precision bf16-mixed",
                 adapter.method == Method::kNorms ? "--peft" : "--train-also");
}

Result<void> check_prompt(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup) {
  const std::int64_t tokens = setup.adapter.virtual_tokens;
  if (setup.adapter.method != Method::kPrompt) return {};
  if (tokens < 1) return refused("a prompt has at least one token", "--peft prompt:20");
  if (setup.lengths.vary()) return refused("prompts before sequences of varying length are not modelled", "leave --lengths out");
  if (spec.positions != PositionKind::kLearned || recipe.sequence + tokens <= spec.max_positions) return {};
  return refused(fmt::format("a prompt of {} tokens before {} leaves the {} positions of {}", tokens, recipe.sequence, spec.max_positions, spec.name),
                 fmt::format("take --seq {} or less", spec.max_positions - tokens));
}

}  // namespace

bool is_encoded(const AdapterSpec& adapter) {
  return adapter.exists() && (adapter.base == BaseStorage::kNf4 || adapter.base == BaseStorage::kInt8);
}

Result<void> check_adapters(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup) {
  const AdapterSetup& adapter = setup.adapter;
  if (!adapter.beyond_lora()) return {};
  if (!recipe.adapter.exists()) return refused(fmt::format("{} is of a frozen model", asked_for(adapter)), "add --lora 16");
  if (const auto goes = check_program(spec, setup); !goes) return goes;
  if (const auto goes = check_layers(spec, adapter); !goes) return goes;
  if (setup.adapter_dropout > 0 && !has_dropout(adapter.method))
    return refused(fmt::format("{} drops nothing of what it reads", to_text(adapter.method)), "leave --lora-dropout out");
  if (const auto goes = check_prompt(spec, recipe, setup); !goes) return goes;
  return check_types(recipe, setup);
}

}  // namespace plimsoll
