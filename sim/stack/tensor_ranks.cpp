#include "sim/stack/tensor_ranks.h"

#include <fmt/format.h>

#include <utility>

#include "core/model/tensor_slice.h"

namespace plimsoll {
namespace {

tl::unexpected<Error> refused(std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = "--tp", .remedy = std::move(remedy)});
}

bool has_homes_elsewhere(const StackSetup& setup) {
  for (const Home home : {setup.parameters, setup.gradients, setup.optimizer, setup.activations}) {
    if (home != Home::kDevice) return true;
  }
  return false;
}

/// Of a model what torchtitan's styles for Llama do not name.
std::string_view undivided_part(const ModelSpec& spec) {
  if (spec.reads_images() || spec.is_conv_net()) return "reads images";
  if (spec.has_encoder_and_decoder()) return "has an encoder and a decoder";
  if (spec.head != HeadKind::kNextToken) return "does not tell next tokens";
  if (spec.experts.count > 0) return "has experts";
  if (spec.latent.exists()) return "has latent attention";
  if (spec.positions != PositionKind::kRope) return "has no rotary positions";
  if (spec.post_norm || spec.norms_behind() || spec.parallel_block || spec.embedding_norm) return "has norms in other places";
  if (spec.projection_bias || spec.mlp_bias || spec.head_bias) return "has biases behind its projections";
  if (spec.sinks || spec.score_cap > 0 || spec.wide_qk_norm || spec.embedding_width > 0) return "has layers of its own kind";
  return {};
}

Result<void> check_program(const Recipe& recipe, const StackSetup& setup) {
  if (setup.stages > 1) return refused("a pipeline under FSDP is not modelled", "leave --pp out, or take --stack megatron");
  if (setup.context_ranks > 1) return refused("ranks that share layers stand beside none that share a sequence here", "leave --cp out");
  if (setup.data_ranks > 1 && setup.zero != 3) return refused("beside tensor ranks PyTorch shares states out as FSDP does (ZeRO-3)", "add --zero 3");
  if (recipe.adapter.exists()) return refused("adapters beside layers that ranks share are not modelled", "leave --lora or --tp out");
  if (has_homes_elsewhere(setup)) return refused("what waits elsewhere beside tensor ranks is not modelled", "leave --offload out");
  if (setup.loss_chunks > 1) return refused("a loss of words that ranks share comes in one piece", "leave --loss-chunks out");
  if (setup.optimizer_form.exists() || recipe.optimizer == OptimizerKind::kMuon) {
    return refused("updates that read whole matrices are not modelled of parts of them", "take --optimizer adamw");
  }
  if (setup.lengths.vary()) return refused("ranks share sequences that are all of one length here", "leave --lengths out");
  return {};
}

}  // namespace

bool shares_layers(const StackSetup& setup) {
  return setup.tensor_ranks > 1 && setup.stack == Stack::kPytorch && setup.modules == ModuleStyle::kTorchTune;
}

ModelSpec part_of_rank(const ModelSpec& spec, const StackSetup& setup) {
  if (!shares_layers(setup)) return spec;
  ModelSpec part = slice_of_model(spec, static_cast<std::uint32_t>(setup.tensor_ranks));
  part.vocabulary = (spec.vocabulary + setup.tensor_ranks - 1) / setup.tensor_ranks;
  return part;
}

Result<void> check_tensor_ranks(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup) {
  if (!shares_layers(setup)) return {};
  const std::int64_t ranks = setup.tensor_ranks;
  if (const auto goes = check_program(recipe, setup); !goes) return goes;
  if (const std::string_view part = undivided_part(spec); !part.empty()) {
    return refused(fmt::format("{} {}, of which no division among tensor ranks is modelled", spec.name, part), "leave --tp out");
  }
  const std::pair<std::int64_t, std::string> divided[] = {
      {spec.heads, fmt::format("{} heads do not divide by {} tensor ranks", spec.heads, ranks)},
      {spec.kv_heads, fmt::format("{} heads of keys do not divide by {} tensor ranks", spec.kv_heads, ranks)},
      {spec.ffn, fmt::format("{} columns of the feed-forward layer do not divide by {} tensor ranks", spec.ffn, ranks)},
      {recipe.sequence, fmt::format("{} tokens do not divide by {} tensor ranks", recipe.sequence, ranks)}};
  for (const auto& [count, what] : divided) {
    if (count % ranks != 0) return refused(what, "choose a divisor");
  }
  return {};
}

std::string tensor_ranks_assumption(const StackSetup& setup) {
  return fmt::format("{} tensor ranks share layers as torchtitan has it: heads and columns, the stream and its norms by tokens, embedding, head and "
                     "loss by words; kernels wait for what they exchange", setup.tensor_ranks);
}

}  // namespace plimsoll
