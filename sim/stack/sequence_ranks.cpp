#include "sim/stack/sequence_ranks.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace plimsoll {
namespace {

tl::unexpected<Error> refused(std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = "--cp", .remedy = std::move(remedy)});
}

}  // namespace

bool shares_sequence(const StackSetup& setup) {
  return setup.context_ranks > 1 && setup.stack == Stack::kDeepspeed && setup.zero == 3 && setup.modules == ModuleStyle::kHuggingFace;
}

std::int64_t zero_ranks(const StackSetup& setup) {
  return shares_sequence(setup) ? setup.data_ranks * setup.context_ranks : setup.data_ranks;
}

Result<void> check_sequence_ranks(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup) {
  if (!shares_sequence(setup)) return {};
  const std::int64_t ranks = setup.context_ranks;
  if (setup.tensor_ranks > 1 || setup.stages > 1) return refused("ranks that share a sequence stand beside no tensor ranks or stages here", "leave --tp and --pp out");
  if (spec.reads_images() || spec.is_conv_net() || spec.has_encoder_and_decoder() || spec.latent.exists() || spec.head != HeadKind::kNextToken) {
    return refused(fmt::format("how ranks would share a sequence of {} is not modelled", spec.name), "leave it out");
  }
  const bool eager = spec.score_cap > 0 || spec.sinks || (setup.attention && *setup.attention == AttentionKernel::kEager);
  if (eager) return refused("ranks that share a sequence have fused attention, which eager attention is not", "leave --cp or --attention eager out");
  if (setup.lengths.vary()) return refused("ranks share sequences that are all of one length here", "leave --lengths out");
  if (spec.heads % ranks != 0) return refused(fmt::format("{} heads of attention are no multiple of {} ranks", spec.heads, ranks), "choose another --cp");
  if (spec.kv_heads % ranks != 0 && ranks % spec.kv_heads != 0) {
    return refused(fmt::format("{} heads of keys and {} ranks are no multiple of one another", spec.kv_heads, ranks), "choose another --cp");
  }
  if (recipe.sequence % ranks == 0) return {};
  return refused(fmt::format("{} tokens are no multiple of {} ranks", recipe.sequence, ranks), "choose another --seq");
}

std::string sequence_ranks_assumption() {
  return "sequences are shared by Ulysses' exchange of heads, as DeepSpeed 0.19.8 does it for transformers' models; no such run was measured";
}

}  // namespace plimsoll
