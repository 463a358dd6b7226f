#include "sim/stack/check_preference.h"

#include <fmt/format.h>

#include <utility>

#include "core/model/parameters.h"
#include "sim/stack/check_adapters.h"
#include "sim/stack/device_room.h"

namespace plimsoll {
namespace {

tl::unexpected<Error> refused(const char* option, std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = option, .remedy = std::move(remedy)});
}

/// Adapters beside matrices can be switched off; what stands elsewhere, and copies of modules, would have to be followed through the model.
bool can_be_switched_off(const AdapterSetup& adapter) {
  return has_targets(adapter.method) && !adapter.copies_embedding && !adapter.copies_head;
}

/// What only GRPO, or only the others, can take for a reference.
bool fits_method(const PreferenceSetup& preference, ReferencePass reference) {
  if (reference == ReferencePass::kNone) return preference.writes();
  return reference != ReferencePass::kPrecomputed || !preference.writes();
}

Result<void> check_reference(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup) {
  const ReferencePass reference = reference_of(setup.preference, recipe.adapter.exists());
  if (!fits_method(setup.preference, reference))
    return refused("--reference", fmt::format("'{}' is no reference of {}", to_text(reference), to_text(setup.preference.method)), "leave it out");
  if (reference == ReferencePass::kCopy && recipe.adapter.exists())
    return refused("--reference", fmt::format("a copy of {} beside adapters: TRL switches them off instead", spec.name), "leave it out");
  if (reference != ReferencePass::kAdaptersOff) return {};
  if (!recipe.adapter.exists()) return refused("--reference", "there are no adapters to switch off", "add --lora 16, or take --reference copy");
  if (!can_be_switched_off(setup.adapter))
    return refused("--workload", setup.adapter.copies_embedding || setup.adapter.copies_head
                                     ? std::string("trained copies of modules that are switched off for the reference are not modelled")
                                     : fmt::format("{} switched off for the reference is not modelled", to_text(setup.adapter.method)),
                   setup.preference.writes() ? "leave --reference out" : "take --lora alone, or --reference precomputed");
  return {};
}

/// Who writes, and from what.
Result<void> check_writing(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup) {
  const PreferenceSetup& preference = setup.preference;
  if (preference.prompt < 0) return refused("--prompt", fmt::format("{} is no number of tokens", preference.prompt), "choose 0 or more");
  if (preference.prompt >= recipe.sequence)
    return refused("--prompt", fmt::format("a prompt of {} tokens leaves nothing of a sequence of {}", preference.prompt, recipe.sequence), "make --seq longer");
  if (!preference.writes()) return {};
  if (setup.lengths.vary()) return refused("--lengths", "answers of varying length are not modelled", "leave it out");
  if (preference.rollout != Rollout::kTransformers) return {};
  if (preference.prompt == 0) return refused("--workload", "transformers write behind a prompt", "add --prompt");
  if (setup.zero == 3 || is_fsdp(setup))
    return refused("--rollout", fmt::format("transformers that write {} while GPUs share its weights are not modelled", spec.name), "take --rollout vllm or elsewhere");
  return {};
}

}  // namespace

Result<void> check_preference(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup) {
  if (!setup.preference.exists()) {
    if (setup.preference.prompt > 0) return refused("--prompt", "prompts are told apart where answers are preferred", "add --workload dpo, kto or grpo");
    if (!setup.preference.reference) return {};
    return refused("--reference", "a reference is of trainings on preferences", "add --workload dpo, kto or grpo");
  }
  const auto method = to_text(setup.preference.method);
  if ((setup.stack != Stack::kPytorch && setup.stack != Stack::kDeepspeed) || setup.modules != ModuleStyle::kHuggingFace)
    return refused("--workload", fmt::format("{} is modelled as TRL trains it: huggingface modules under pytorch or deepspeed", method),
                   "take --stack pytorch or deepspeed with huggingface modules");
  if (!setup.fused_head) return refused("--workload", fmt::format("{} is modelled with TRL's fused head alone", method), "add --fused-head");
  const std::pair<bool, std::string_view> unknown[] = {{setup.context_ranks > 1, "sequences that GPUs share"},
                                                       {setup.document_tokens > 0, "packed documents"},
                                                       {setup.tiled_mlp, "tiles of feed-forward layers"},
                                                       {setup.fp8.exists(), "products in fp8"},
                                                       {setup.parameters != Home::kDevice, "parameters that wait elsewhere"}};
  for (const auto& [asked, what] : unknown) {
    if (asked) return refused("--workload", fmt::format("{} as TRL trains it, beside {}, is not modelled", method, what), "leave one of both out");
  }
  if (const auto writes = check_writing(spec, recipe, setup); !writes) return writes;
  return check_reference(spec, recipe, setup);
}

Result<void> check_writer(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu) {
  const PreferenceSetup& preference = setup.preference;
  if (!preference.writes() || preference.rollout != Rollout::kVllm) return {};
  const bool encoded = is_encoded(recipe.adapter);
  const std::int64_t bits = !encoded ? 8 * size_of(compute_dtype(recipe.precision)) : recipe.adapter.base == BaseStorage::kNf4 ? 4 : 8;
  const Bytes weights(parameter_count(spec) * bits / 8), share = vllm_memory(gpu, setup);
  if (weights <= share) return {};
  return refused("--rollout", fmt::format("vLLM's share of the GPU is {}, and its weights alone take {}", to_text(share), to_text(weights)),
                 "give it a larger share (vllm:0.5), or take --rollout elsewhere");
}

namespace {

std::string told_of(const PreferenceSetup& preference) {
  if (preference.sequences() == 2) return "DPO as TRL 1.16 trains it: one of --batch is a pair, whose two sequences go through the model together";
  if (preference.method == PreferenceMethod::kKto) return "KTO as TRL 1.16 trains it: a pass without gradients over as many mismatched answers comes first";
  return "GRPO as TRL 1.16 trains it: one of --batch is an answer; how long writing the answers takes, and what they are worth, is not in the step's time";
}

std::string writer_of(const PreferenceSetup& preference) {
  if (preference.rollout == Rollout::kVllm) {
    return fmt::format("vLLM on the same GPU takes {:g} of its memory, for weights of its own and their cache (vllm_gpu_memory_utilization), all the time", preference.vllm_share);
  }
  if (preference.rollout == Rollout::kElsewhere) return "vLLM writes on other GPUs";
  return "transformers write all of a step's answers at once; their cache is told at its longest, without the gaps that it leaves as it grows";
}

std::string text_of(ReferencePass reference, bool writes) {
  switch (reference) {
    case ReferencePass::kCopy:
      return writes ? "the reference is a frozen copy of the model in the type of its weights"
                    : "the reference is a frozen copy of the model in the type of its weights; --reference precomputed leaves it out";
    case ReferencePass::kAdaptersOff: return "the reference is the model without its adapters, which takes a pass of its own and no memory for weights";
    case ReferencePass::kPrecomputed: return "the pass that computes the reference's log-probabilities before training is not told";
    case ReferencePass::kNone: break;
  }
  return "nothing holds the model near a reference (beta is 0); --reference copy or adapters-off tells one";
}

}  // namespace

std::vector<std::string> preference_assumptions(const Recipe& recipe, const StackSetup& setup) {
  const PreferenceSetup& preference = setup.preference;
  if (!preference.exists()) return {};
  std::vector<std::string> all{told_of(preference)};
  if (preference.prompt == 0) all.emplace_back("prompts are told as answers, with log-probabilities of all their tokens; --prompt says how many have none");
  if (preference.writes()) all.push_back(writer_of(preference));
  all.push_back(text_of(reference_of(preference, recipe.adapter.exists()), preference.writes()));
  return all;
}

}  // namespace plimsoll
