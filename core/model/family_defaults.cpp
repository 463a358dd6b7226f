#include "core/model/model_spec.h"

namespace plimsoll {
namespace {

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
  if (family == Family::kGemma) {
    spec.norm = NormKind::kRmsNormPlusOne;
    spec.activation = ActivationKind::kGeGluTanh;
    spec.tied_head = true;
  }
  return spec;
}

/// What decoders have or lack, family by family, where it is not as in Llama.
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
    case Family::kGptNeoX:
      spec.activation = ActivationKind::kGelu;
      spec.positions = PositionKind::kRope;
      spec.tied_head = false;
      spec.parallel_block = spec.parallel_norms = true;
      break;
    case Family::kGptJ:
      spec.positions = PositionKind::kRope;
      spec.rope_interleaved = true;
      spec.tied_head = spec.qkv_bias = spec.projection_bias = false;
      spec.head_bias = true;
      spec.parallel_block = true;
      break;
    case Family::kFalcon:
      spec.activation = ActivationKind::kGelu;
      spec.positions = PositionKind::kRope;
      spec.qkv_bias = spec.projection_bias = spec.mlp_bias = false;
      spec.parallel_block = true;
      break;
    case Family::kMpt:
      spec.activation = ActivationKind::kGelu;
      break;
    case Family::kPalm:
      spec.activation = ActivationKind::kSwiGlu;
      spec.positions = PositionKind::kRope;
      spec.qkv_bias = spec.projection_bias = spec.mlp_bias = spec.norm_bias = false;
      spec.parallel_block = true;
      break;
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
  if (family == Family::kGpt2) return spec;
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
    case Family::kConvNet: return conv_defaults(spec);
    default: return rotary_defaults(spec);
  }
}

}  // namespace plimsoll
