#include "core/model/model_spec.h"

#include <utility>

namespace plimsoll {
namespace {

ModelSpec gemma_defaults(ModelSpec spec) {
  spec.norm_place = NormPlace::kBeforeAndBehind;
  if (spec.family == Family::kGemma2) {
    spec.score_cap = 50;
    spec.logit_cap = 30;
    spec.window = 4096;
    spec.full_every = 2;
    return spec;
  }
  spec.qk_norm = true;
  spec.window = 1024;
  spec.full_every = 6;
  spec.local_rope_theta = 10000;
  return spec;
}

ModelSpec gpt_oss_defaults(ModelSpec spec) {
  spec.qkv_bias = spec.projection_bias = spec.mlp_bias = true;
  spec.sinks = spec.other_arithmetic = true;
  spec.window = 128;
  spec.full_every = 2;
  spec.experts = gating_defaults(GatingKind::kTopK);
  spec.experts.count = 32;
  spec.experts.per_token = 4;
  spec.experts.router_bias = true;
  return spec;
}

/// A mixture of so many experts whose gates do not sum to 1.
ExpertSpec plain_mixture(std::int64_t count, std::int64_t per_token) {
  ExpertSpec experts = gating_defaults(GatingKind::kTopK);
  experts.count = count;
  experts.per_token = per_token;
  experts.plain_gates = true;
  return experts;
}

/// Newer mixtures of experts.
ModelSpec newer_mixture_defaults(ModelSpec spec) {
  switch (spec.family) {
    case Family::kGptOss: return gpt_oss_defaults(std::move(spec));
    case Family::kOlmoe:
      spec.qk_norm = spec.wide_qk_norm = true;
      spec.experts = plain_mixture(64, 8);
      break;
    case Family::kQwen2Moe:
      spec.qkv_bias = true;
      spec.experts = plain_mixture(60, 4);
      spec.experts.shared_gate = true;
      spec.experts.shared_width = 5632;
      break;
    case Family::kDeepSeek:
      spec.latent = {.kv_rank = 512, .plain_dim = 128, .rope_dim = 64, .value_dim = 128};
      spec.rope_interleaved = spec.other_arithmetic = true;
      spec.experts = plain_mixture(64, 6);
      break;
    case Family::kLlama4:
      spec.experts = plain_mixture(16, 1);
      spec.experts.sigmoid_scores = spec.rope_interleaved = spec.other_arithmetic = true;
      break;
    default: break;
  }
  return spec;
}

/// What newer decoders have or lack where it is not as in Llama.
ModelSpec newer_defaults(ModelSpec spec) {
  switch (spec.family) {
    case Family::kGemma2:
    case Family::kGemma3: return gemma_defaults(std::move(spec));
    case Family::kOlmo:
      spec.norm = NormKind::kLayerNorm;
      spec.norm_weight = spec.norm_bias = false;
      break;
    case Family::kOlmo2:
      spec.norm_place = NormPlace::kBehind;
      spec.qk_norm = spec.wide_qk_norm = true;
      break;
    case Family::kCohere:
      spec.norm = NormKind::kLayerNorm;
      spec.norm_bias = false;
      spec.parallel_block = spec.rope_interleaved = spec.tied_head = spec.other_arithmetic = true;
      break;
    default: return newer_mixture_defaults(std::move(spec));
  }
  return spec;
}

/// Llama and its relatives.
ModelSpec rotary_defaults(ModelSpec spec) {
  const Family family = spec.family;
  spec.positions = PositionKind::kRope;
  spec.tied_head = false;
  if (family == Family::kPhi) {
    spec.parallel_block = true;
    spec.head_bias = true;
    return spec;
  }
  spec.norm = family == Family::kStableLm ? NormKind::kLayerNorm : NormKind::kRmsNorm;
  spec.activation = ActivationKind::kSwiGlu;
  spec.qkv_bias = family == Family::kQwen2 || family == Family::kQwen;
  spec.projection_bias = false;
  spec.mlp_bias = false;
  spec.qk_norm = family == Family::kQwen3;
  if (family == Family::kMixtral) {
    spec.experts = gating_defaults(GatingKind::kTopK);
    spec.experts.count = 8;
  }
  if (family == Family::kGemma || family == Family::kGemma2 || family == Family::kGemma3) {
    spec.norm = NormKind::kRmsNormPlusOne;
    spec.activation = ActivationKind::kGeGluTanh;
    spec.tied_head = true;
  }
  return newer_defaults(std::move(spec));
}

/// Decoders that rotate positions, but are no relatives of Llama.
ModelSpec other_rotary_defaults(ModelSpec spec) {
  spec.positions = PositionKind::kRope;
  spec.parallel_block = true;
  switch (spec.family) {
    case Family::kGptNeoX:
      spec.activation = ActivationKind::kGelu;
      spec.tied_head = false;
      spec.parallel_norms = true;
      break;
    case Family::kGptJ:
      spec.rope_interleaved = true;
      spec.tied_head = spec.qkv_bias = spec.projection_bias = false;
      spec.head_bias = true;
      break;
    case Family::kFalcon:
      spec.activation = ActivationKind::kGelu;
      spec.qkv_bias = spec.projection_bias = spec.mlp_bias = false;
      break;
    default:  // PaLM
      spec.activation = ActivationKind::kSwiGlu;
      spec.qkv_bias = spec.projection_bias = spec.mlp_bias = spec.norm_bias = false;
      break;
  }
  return spec;
}

/// What decoders have or lack, family by family, where it is not as in GPT-2.
ModelSpec decoder_defaults(ModelSpec spec) {
  switch (spec.family) {
    case Family::kOpt:
      spec.activation = ActivationKind::kRelu;
      spec.position_offset = 2;
      break;
    case Family::kBloom:
      spec.positions = PositionKind::kAlibi;
      spec.embedding_norm = true;
      break;
    case Family::kMpt:
      spec.activation = ActivationKind::kGelu;
      break;
    case Family::kGptNeoX:
    case Family::kGptJ:
    case Family::kFalcon:
    case Family::kPalm: return other_rotary_defaults(std::move(spec));
    default: break;
  }
  return spec;
}

ModelSpec t5_defaults(ModelSpec spec) {
  spec.norm = NormKind::kRmsNorm;
  spec.norm_epsilon = 1e-6;
  spec.activation = ActivationKind::kRelu;
  spec.positions = PositionKind::kRelative;
  spec.relative_buckets = 32;
  spec.qkv_bias = spec.projection_bias = spec.mlp_bias = false;
  return spec;
}

/// NVIDIA's code: the rows of the vocabulary have biases in the head, queries, keys, values and the projection none.
ModelSpec transfo_xl_defaults(ModelSpec spec) {
  spec.activation = ActivationKind::kRelu;
  spec.positions = PositionKind::kDistance;
  spec.qkv_bias = spec.projection_bias = false;
  spec.head_bias = true;
  spec.post_norm = true;
  return spec;
}

/// Sizes that a transformer has stand for what lies between the convolutions and the classes.
ModelSpec conv_defaults(ModelSpec spec) {
  spec.activation = ActivationKind::kRelu;
  spec.causal = false;
  spec.heads = spec.kv_heads = spec.max_positions = 1;
  spec.image = {.size = 224, .patch = 0, .channels = 3, .mean = {0.485, 0.456, 0.406}, .deviation = {0.229, 0.224, 0.225}};
  return with_classes(spec, 1000);
}

ModelSpec encoder_defaults(ModelSpec spec) {
  spec.activation = ActivationKind::kGelu;
  spec.norm_epsilon = 1e-12;
  spec.causal = false;
  spec.head_bias = true;
  if (spec.family == Family::kVit) {
    spec.image = {.size = 224, .patch = 16, .channels = 3};
    spec.max_positions = spec.image.patches() + 1;
    return with_classes(spec, 1000);
  }
  spec.head = HeadKind::kMaskedToken;
  spec.post_norm = true;
  spec.embedding_norm = true;
  spec.token_types = 2;
  return spec;
}

}  // namespace

ModelSpec with_classes(ModelSpec spec, std::int64_t classes) {
  spec.head = HeadKind::kClass;
  spec.classes = classes;
  spec.tied_head = false;
  spec.head_bias = true;
  spec.pooler = spec.family == Family::kBert;
  return spec;
}

ModelSpec family_defaults(Family family) {
  ModelSpec spec;
  spec.family = family;
  if (family == Family::kGptBigCode) spec.kv_heads = 1;
  if (family == Family::kGpt2 || family == Family::kGptBigCode) return spec;
  switch (family) {
    case Family::kBert:
    case Family::kVit: return encoder_defaults(spec);
    case Family::kOpt:
    case Family::kBloom:
    case Family::kGptNeoX:
    case Family::kGptJ:
    case Family::kFalcon:
    case Family::kMpt:
    case Family::kPalm: return decoder_defaults(spec);
    case Family::kT5: return t5_defaults(spec);
    case Family::kTransfoXl: return transfo_xl_defaults(spec);
    case Family::kConvNet: return conv_defaults(spec);
    default: return rotary_defaults(spec);
  }
}

}  // namespace plimsoll
