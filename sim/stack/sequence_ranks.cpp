#include "sim/stack/sequence_ranks.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace plimsoll {
namespace {

tl::unexpected<Error> refused(std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = "--cp", .remedy = std::move(remedy)});
}

Result<void> check_heads(const ModelSpec& spec, std::int64_t ranks) {
  if (spec.heads % ranks != 0) return refused(fmt::format("{} heads of attention are no multiple of {} ranks", spec.heads, ranks), "choose another --cp");
  if (spec.kv_heads % ranks == 0 || ranks % spec.kv_heads == 0) return {};
  return refused(fmt::format("{} heads of keys and {} ranks are no multiple of one another", spec.kv_heads, ranks), "choose another --cp");
}

/// Keys that go round meet a causal mask alone (PyTorch's context_parallel).
Result<void> check_ring(const ModelSpec& spec, const Recipe& recipe) {
  if (!spec.causal) return refused(fmt::format("{} attends to what comes later, and ring attention is causal", spec.name), "leave --cp out");
  if (!spec.slides_over(recipe.sequence)) return {};
  return refused(fmt::format("{} attends to a window of {} tokens, which ring attention does not know", spec.name, spec.window), "choose a shorter --seq or leave --cp out");
}

Result<void> check_tokens(const Recipe& recipe, const StackSetup& setup) {
  const std::int64_t parts = setup.context_ranks * (passes_keys_round(setup) ? 2 : 1);
  if (recipe.sequence % parts == 0) return {};
  if (!passes_keys_round(setup)) return refused(fmt::format("{} tokens are no multiple of {} ranks", recipe.sequence, parts), "choose another --seq");
  return refused(fmt::format("{} tokens are no multiple of {}: each of {} ranks has an early and a late part", recipe.sequence, parts, setup.context_ranks),
                 "choose another --seq");
}

}  // namespace

bool exchanges_heads(const StackSetup& setup) {
  return setup.context_ranks > 1 && setup.stack == Stack::kDeepspeed && setup.zero == 3 && setup.modules == ModuleStyle::kHuggingFace;
}

bool passes_keys_round(const StackSetup& setup) {
  const bool modules = setup.modules == ModuleStyle::kHuggingFace || setup.modules == ModuleStyle::kTorchTune;
  return setup.context_ranks > 1 && setup.stack == Stack::kPytorch && setup.zero >= 2 && modules;
}

bool shares_sequence(const StackSetup& setup) { return exchanges_heads(setup) || passes_keys_round(setup); }

std::int64_t zero_ranks(const StackSetup& setup) {
  return shares_sequence(setup) ? setup.data_ranks * setup.context_ranks : setup.data_ranks;
}

Result<void> check_sequence_ranks(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup) {
  if (!shares_sequence(setup)) return {};
  if (setup.tensor_ranks > 1 || setup.stages > 1) return refused("ranks that share a sequence stand beside no tensor ranks or stages here", "leave --tp and --pp out");
  if (spec.reads_images() || spec.is_conv_net() || spec.has_encoder_and_decoder() || spec.latent.exists() || spec.head != HeadKind::kNextToken) {
    return refused(fmt::format("how ranks would share a sequence of {} is not modelled", spec.name), "leave it out");
  }
  const bool eager = spec.score_cap > 0 || spec.sinks || (setup.attention && *setup.attention == AttentionKernel::kEager);
  if (eager) return refused("ranks that share a sequence have fused attention, which eager attention is not", "leave --cp or --attention eager out");
  if (setup.lengths.vary()) return refused("ranks share sequences that are all of one length here", "leave --lengths out");
  const auto attention = passes_keys_round(setup) ? check_ring(spec, recipe) : check_heads(spec, setup.context_ranks);
  return attention ? check_tokens(recipe, setup) : attention;
}

std::string sequence_ranks_assumption(const StackSetup& setup) {
  if (passes_keys_round(setup)) {
    return "sequences are shared by ring attention, as PyTorch's context_parallel does it: each rank has an early and a late part of a sequence, all keys "
           "and values are gathered before the first block of attention, and blocks are joined in fp32";
  }
  return "sequences are shared by Ulysses' exchange of heads, as DeepSpeed 0.19.8 does it for transformers' models; no such run was measured";
}

}  // namespace plimsoll
