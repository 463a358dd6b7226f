#include "sim/stack/check_preference.h"

#include <fmt/format.h>

#include <utility>

namespace plimsoll {
namespace {

tl::unexpected<Error> refused(const char* option, std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = option, .remedy = std::move(remedy)});
}

/// Adapters beside matrices can be switched off; what stands elsewhere, and copies of modules, would have to be followed through the model.
bool can_be_switched_off(const AdapterSetup& adapter) {
  return has_targets(adapter.method) && !adapter.copies_embedding && !adapter.copies_head;
}

Result<void> check_reference(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup) {
  const ReferencePass reference = reference_of(setup.preference, recipe.adapter.exists());
  if (reference == ReferencePass::kCopy && recipe.adapter.exists())
    return refused("--reference", fmt::format("a copy of {} beside adapters: TRL switches them off instead", spec.name), "leave it out");
  if (reference != ReferencePass::kAdaptersOff) return {};
  if (!recipe.adapter.exists()) return refused("--reference", "there are no adapters to switch off", "add --lora 16, or take --reference copy");
  if (!can_be_switched_off(setup.adapter))
    return refused("--workload", fmt::format("{} switched off for the reference is not modelled", to_text(setup.adapter.method)),
                   "take --lora, or --reference precomputed");
  return {};
}

}  // namespace

Result<void> check_preference(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup) {
  if (!setup.preference.exists()) {
    if (!setup.preference.reference) return {};
    return refused("--reference", "a reference is of trainings on preferences", "add --workload dpo or kto");
  }
  const auto method = to_text(setup.preference.method);
  if ((setup.stack != Stack::kPytorch && setup.stack != Stack::kDeepspeed) || setup.modules != ModuleStyle::kHuggingFace)
    return refused("--workload", fmt::format("{} is modelled as TRL trains it: huggingface modules under pytorch or deepspeed", method), "leave --modules out");
  if (!setup.fused_head) return refused("--workload", fmt::format("{} is modelled with TRL's fused head alone", method), "add --fused-head");
  const std::pair<bool, std::string_view> unknown[] = {{setup.context_ranks > 1, "sequences that GPUs share"},
                                                       {setup.document_tokens > 0, "packed documents"},
                                                       {setup.tiled_mlp, "tiles of feed-forward layers"},
                                                       {setup.fp8.exists(), "products in fp8"},
                                                       {setup.parameters != Home::kDevice, "parameters that wait elsewhere"}};
  for (const auto& [asked, what] : unknown) {
    if (asked) return refused("--workload", fmt::format("{} as TRL trains it, beside {}, is not modelled", method, what), "leave one of both out");
  }
  return check_reference(spec, recipe, setup);
}

std::vector<std::string> preference_assumptions(const Recipe& recipe, const StackSetup& setup) {
  if (!setup.preference.exists()) return {};
  std::vector<std::string> all;
  const bool pairs = setup.preference.sequences() == 2;
  all.push_back(fmt::format("{} as TRL 1.16 trains it: {}; prompts are told as answers, with log-probabilities of all their tokens", to_text(setup.preference.method),
                            pairs ? "a sample is a pair, whose two sequences go through the model together"
                                  : "a pass without gradients over as many mismatched answers comes first"));
  const ReferencePass reference = reference_of(setup.preference, recipe.adapter.exists());
  if (reference == ReferencePass::kCopy) all.emplace_back("the reference is a frozen copy of the model in the type of its weights; --reference precomputed leaves it out");
  if (reference == ReferencePass::kAdaptersOff) all.emplace_back("the reference is the model without its adapters, which takes a pass of its own and no memory for weights");
  if (reference == ReferencePass::kPrecomputed) all.emplace_back("the pass that computes the reference's log-probabilities before training is not told");
  return all;
}

}  // namespace plimsoll
