#include "sim/stack/megatron/check_megatron.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/model/foreign_feature.h"
#include "sim/stack/megatron/megatron_stage.h"

namespace plimsoll {
namespace {

tl::unexpected<Error> refused(std::string what, std::string where, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = std::move(where), .remedy = std::move(remedy)});
}

tl::unexpected<Error> contradiction(std::string what, std::string where) { return refused(std::move(what), std::move(where), "choose degrees that divide it"); }

/// What of the model its layers have otherwise, as "has a norm behind its embeddings"; empty where there is nothing. BERT is Megatron-LM's
/// own, whatever norms the model's file says.
std::string_view other_layers(const ModelSpec& spec) {
  const bool bert = spec.head == HeadKind::kMaskedToken;
  ModelSpec others_have = spec;  // these its mixtures have too
  others_have.experts.shared_width = 0;
  others_have.experts.plain_gates = others_have.experts.sigmoid_scores = false;
  others_have.latent = {};
  const std::string_view foreign = foreign_feature(others_have);
  const std::pair<bool, std::string_view> others[] = {
      {spec.norms_behind(), "has norms behind its halves"},
      {spec.wide_qk_norm, "has norms over all heads"},
      {!foreign.empty(), foreign},
      {spec.family == Family::kLlama4, "weights what its experts read, not what they make"},
      {spec.parallel_block, "has attention and feed-forward layer side by side"},
      {spec.has_encoder_and_decoder(), "has a decoder behind an encoder"},
      {spec.positions == PositionKind::kAlibi, "has scores that fall with the distance (ALiBi)"},
      {spec.post_norm && !bert, "has norms behind the sums of its stream"},
      {spec.embedding_norm && !bert, "has a norm behind its embeddings"},
      {spec.token_width() != spec.hidden, "has token embeddings narrower than its stream"},
      {spec.head_bias && !bert, "has a head with biases"},
      {spec.activation == ActivationKind::kRelu, "has ReLU between the products of its feed-forward layer"}};
  for (const auto& [has, what] : others) {
    if (has) return what;
  }
  return {};
}

Result<void> check_layers(const ModelSpec& spec) {
  if (spec.reads_images() || spec.head == HeadKind::kClass) {
    return refused(fmt::format("megatron: {} is neither a GPT nor a BERT", spec.name), {}, "choose --stack pytorch");
  }
  const std::string_view other = other_layers(spec);
  if (other.empty()) return {};
  return refused(fmt::format("megatron: {} {}, which its layers are not taken to have", spec.name, other), {}, "choose --stack pytorch");
}

/// An option that would be ignored, or told as another.
struct Unknown {
  bool asked;
  std::string_view what, where, remedy;
};

template <std::size_t count>
Result<void> check_unknown(const std::array<Unknown, count>& options) {
  for (const Unknown& one : options) {
    if (one.asked) return refused(std::string(one.what), std::string(one.where), std::string(one.remedy));
  }
  return {};
}

/// What its layers do not do, under either program.
Result<void> check_kernels(const Recipe& recipe, const StackSetup& setup) {
  const bool away = setup.parameters != Home::kDevice || setup.optimizer != Home::kDevice || setup.activations != Home::kDevice;
  return check_unknown(std::array{
      Unknown{recipe.adapter.exists(), "megatron's arguments have no adapters", "--lora", "choose --stack pytorch"},
      Unknown{away, "no offloading of Megatron's layers is modelled", "--offload", "leave it out"},
      Unknown{setup.compile, "Megatron's layers are not compiled as a whole", "--compile", "leave it out"},
      Unknown{setup.loss_chunks > 1, "Megatron's loss is of all logits at once", "--loss-chunks", "leave it out"},
      Unknown{setup.update_in_backward, "Megatron's optimizers update when all gradients are there", "--update-in-backward", "leave it out"},
      Unknown{setup.attention == AttentionKernel::kEfficient, "Megatron's layers do not call PyTorch's memory-efficient attention", "--attention",
              "take flash or eager, or leave it out"}});
}

bool has_megatron(OptimizerKind optimizer) {
  constexpr std::array kKnown{OptimizerKind::kAdam, OptimizerKind::kAdamW, OptimizerKind::kSgd, OptimizerKind::kMomentum, OptimizerKind::kLion,
                              OptimizerKind::kMuon};
  return std::find(kKnown.begin(), kKnown.end(), optimizer) != kKnown.end();
}

/// Of boards for data centers.
bool is_blackwell(std::string_view capability) { return capability.starts_with("10."); }

/// What Megatron-LM does otherwise than asked.
Result<void> check_program(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, std::string_view capability) {
  if (!has_megatron(recipe.optimizer)) {
    return refused(fmt::format("Megatron-LM has no {}", to_text(recipe.optimizer)), "--optimizer", "take adamw, sgd, momentum, lion or muon");
  }
  const bool takes_cudnn = capability == "9.0" || (spec.latent.exists() && is_blackwell(capability));
  return check_unknown(std::array{
      Unknown{takes_megatron_fsdp(setup), "Megatron-LM's distributed optimizer shares out states alone (ZeRO-1); its FSDP, which shares gradients and weights too, is not modelled",
              "--zero", "take --zero 1, or --stack pytorch --zero 3"},
      Unknown{recipe.precision == Precision::kBf16, "megatron keeps fp32 states beside bf16 weights", "--precision", "take --precision bf16-mixed"},
      Unknown{setup.attention == AttentionKernel::kCudnn && !takes_cudnn,
              "Transformer Engine's choice of cuDNN's attention is modelled of Hopper alone", "--attention", "take flash or eager, or leave it out"}});
}

/// cuDNN attends to keys wider than values on Hopper and Blackwell; FlashAttention 2 does not. Rotations are told as fused: without
/// that (--no-rope-fusion) latent attention holds more.
Result<void> check_latent(const ModelSpec& spec, const StackSetup& setup, std::string_view capability) {
  if (!spec.latent.exists()) return {};
  const bool fused = setup.attention != AttentionKernel::kEager, has_kernel = capability == "9.0" || is_blackwell(capability);
  return check_unknown(std::array{
      Unknown{setup.stack != Stack::kMegatron, "Megatron's modules under another program are not taken to have latent attention", "--modules", "take --stack megatron"},
      Unknown{setup.fp8.exists(), "products in fp8 beside latent attention are not modelled", "--fp8", "leave it out"},
      Unknown{fused && !has_kernel, "latent attention, whose keys are wider than values, has a fused kernel on data centers' Hopper and Blackwell boards alone", "--attention", "add --attention eager"}});
}

Result<void> check_degrees(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup) {
  const std::int64_t t = setup.tensor_ranks;
  if (spec.heads % t != 0 || spec.ffn % t != 0 || spec.kv_heads % t != 0) {
    return contradiction(fmt::format("{} heads, {} key heads or {} of the feed-forward layer do not divide by {} tensor ranks", spec.heads, spec.kv_heads, spec.ffn, t), "--tp");
  }
  if (layers_of_chunk(spec, setup, 0) < 1) {
    return contradiction(fmt::format("{} layers do not divide by {} stages of {} chunks", spec.layers, setup.stages, setup.chunks), "--pp");
  }
  if (setup.chunks > 1 && recipe.accumulate % setup.stages != 0) {
    return contradiction(fmt::format("{} micro-batches do not divide by {} stages, as interleaved chunks need", recipe.accumulate, setup.stages), "--chunks");
  }
  const std::int64_t of_sequence = setup.context_ranks * (setup.sequence_parallel ? t : 1);
  if (recipe.sequence % of_sequence != 0) {
    return contradiction(fmt::format("a sequence of {} does not divide by the {} ranks that share it", recipe.sequence, of_sequence), "--seq");
  }
  return {};
}

}  // namespace

bool takes_megatron_fsdp(const StackSetup& setup) { return setup.stack == Stack::kMegatron && setup.zero > 1; }

Result<void> check_megatron(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, std::string_view capability) {
  if (const auto known = check_layers(spec); !known) return known;
  if (const auto known = check_kernels(recipe, setup); !known) return known;
  if (const auto known = check_latent(spec, setup, capability); !known) return known;
  if (setup.stack == Stack::kMegatron) {
    if (const auto known = check_program(spec, recipe, setup, capability); !known) return known;
  } else if (setup.recomputation == Recomputation::kEvery && setup.every > 1) {
    return refused("DeepSpeed's pipeline counts its checkpoints from the embedding on, which is modelled of single layers alone", "--recompute",
                   "take --recompute full, or --stack megatron");
  }
  if (const auto shared = check_rank_experts(spec, setup); !shared) return shared;
  return check_degrees(spec, recipe, setup);
}

}  // namespace plimsoll
