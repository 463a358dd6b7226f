#include "core/model/model_spec.h"

#include <fmt/format.h>

namespace plimsoll {

std::string_view to_text(Family family) {
  switch (family) {
    case Family::kGpt2: return "gpt2";
    case Family::kLlama: return "llama";
    case Family::kMistral: return "mistral";
    case Family::kQwen2: return "qwen2";
    case Family::kQwen3: return "qwen3";
    case Family::kGemma: return "gemma";
    case Family::kPhi: return "phi";
    case Family::kMixtral: return "mixtral";
    case Family::kBert: return "bert";
    case Family::kVit: return "vit";
    case Family::kOpt: return "opt";
    case Family::kBloom: return "bloom";
    case Family::kGptNeoX: return "gpt_neox";
    case Family::kGptJ: return "gptj";
    case Family::kFalcon: return "falcon";
    case Family::kMpt: return "mpt";
    case Family::kPalm: return "palm";
    case Family::kStableLm: return "stablelm";
    case Family::kPhi3: return "phi3";
    case Family::kQwen: return "qwen";
    case Family::kT5: return "t5";
    case Family::kConvNet: return "conv";
    case Family::kGemma2: return "gemma2";
    case Family::kGemma3: return "gemma3";
    case Family::kOlmo: return "olmo";
    case Family::kOlmo2: return "olmo2";
    case Family::kOlmoe: return "olmoe";
    case Family::kQwen2Moe: return "qwen2_moe";
    case Family::kGptOss: return "gpt_oss";
    case Family::kDeepSeek: return "deepseek";
    case Family::kGptBigCode: return "gpt_bigcode";
    case Family::kCohere: return "cohere";
    case Family::kLlama4: return "llama4";
    case Family::kTransfoXl: return "transfo_xl";
  }
  return "?";
}

std::string_view to_text(NormKind norm) {
  switch (norm) {
    case NormKind::kLayerNorm: return "layernorm";
    case NormKind::kRmsNorm: return "rmsnorm";
    case NormKind::kRmsNormPlusOne: return "rmsnorm_plus_one";
  }
  return "?";
}

std::string_view to_text(PositionKind positions) {
  switch (positions) {
    case PositionKind::kLearned: return "learned";
    case PositionKind::kRope: return "rope";
    case PositionKind::kAlibi: return "alibi";
    case PositionKind::kRelative: return "relative";
    case PositionKind::kDistance: return "distance";
  }
  return "?";
}

std::string_view to_text(ActivationKind activation) {
  switch (activation) {
    case ActivationKind::kGelu: return "gelu";
    case ActivationKind::kGeluTanh: return "gelu_tanh";
    case ActivationKind::kSwiGlu: return "swiglu";
    case ActivationKind::kGeGluTanh: return "geglu_tanh";
    case ActivationKind::kTanh: return "tanh";
    case ActivationKind::kRelu: return "relu";
    case ActivationKind::kSquaredRelu: return "relu2";
  }
  return "?";
}

std::string_view to_text(RopeScalingKind scaling) {
  switch (scaling) {
    case RopeScalingKind::kNone: return "none";
    case RopeScalingKind::kLinear: return "linear";
    case RopeScalingKind::kLlama3: return "llama3";
  }
  return "?";
}

std::string_view to_text(HeadKind head) {
  switch (head) {
    case HeadKind::kNextToken: return "next_token";
    case HeadKind::kMaskedToken: return "masked_token";
    case HeadKind::kClass: return "class";
  }
  return "?";
}

std::string_view to_text(NormPlace place) {
  switch (place) {
    case NormPlace::kBefore: return "before";
    case NormPlace::kBeforeAndBehind: return "before_and_behind";
    case NormPlace::kBehind: return "behind";
  }
  return "?";
}

namespace {

/// Of an encoder, only what differs from a decoder.
std::string encoder_fields(const ModelSpec& s) {
  std::string text;
  if (!s.causal) text += " causal=false";
  if (s.post_norm) text += " post_norm=true";
  if (s.embedding_norm) text += " embedding_norm=true";
  if (s.token_types != 0) text += fmt::format(" token_types={}", s.token_types);
  if (s.head != HeadKind::kNextToken) text += fmt::format(" head={}", to_text(s.head));
  if (s.classes != 0) text += fmt::format(" classes={}", s.classes);
  if (s.pooler) text += " pooler=true";
  if (s.mask_token != -1) text += fmt::format(" mask_token={}", s.mask_token);
  if (!s.reads_images()) return text;
  const ImageInput& i = s.image;
  text += fmt::format(" image={} patch={} channels={}", i.size, i.patch, i.channels);
  return text + fmt::format(" mean={:.17g},{:.17g},{:.17g} deviation={:.17g},{:.17g},{:.17g}", i.mean[0], i.mean[1], i.mean[2],
                            i.deviation[0], i.deviation[1], i.deviation[2]);
}

/// What only some newer decoders have, each named where it differs from what the others do.
std::string newer_fields(const ModelSpec& s) {
  std::string text;
  const auto add = [&](std::string_view key, auto value, auto neutral) {
    if (value != neutral) text += fmt::format(" {}={}", key, value);
  };
  const auto add_number = [&](std::string_view key, double value) {
    if (value != 0) text += fmt::format(" {}={:.17g}", key, value);
  };
  add("norm_place", to_text(s.norm_place), to_text(NormPlace::kBefore));
  add("norm_weight", s.norm_weight, true);
  add("wide_qk_norm", s.wide_qk_norm, false);
  add_number("score_cap", s.score_cap);
  add_number("logit_cap", s.logit_cap);
  add("full_every", s.full_every, std::int64_t{0});
  add_number("local_theta", s.local_rope_theta);
  add("sinks", s.sinks, false);
  add("other_arithmetic", s.other_arithmetic, false);
  add("memory", s.memory, std::int64_t{0});
  text += canonical_text(s.adaptive);
  const LatentAttention& l = s.latent;
  if (!l.exists()) return text;
  return text + fmt::format(" latent=q{}-kv{}-plain{}-rope{}-value{}", l.q_rank, l.kv_rank, l.plain_dim, l.rope_dim, l.value_dim);
}

/// What was not there when the first digests were taken is named only where it differs from what was meant then.
std::string later_fields(const ModelSpec& s) {
  std::string text;
  const auto add = [&](std::string_view key, auto value, auto neutral) {
    if (value != neutral) text += fmt::format(" {}={}", key, value);
  };
  add("projection_bias", s.projection_bias, s.qkv_bias);
  add("head_bias", s.head_bias, false);
  add("qk_norm", s.qk_norm, false);
  add("parallel", s.parallel_block, false);
  add("rotary_dim", s.rotary_width(), s.head_dim);
  add("embedding_scale", fmt::format("{:.17g}", s.embedding_scale), std::string("1"));
  add("window", s.window, std::int64_t{0});
  add("norm_bias", s.norm_bias, true);
  add("parallel_norms", s.parallel_norms, false);
  add("rope_interleaved", s.rope_interleaved, false);
  add("embedding_width", s.embedding_width, std::int64_t{0});
  add("position_offset", s.position_offset, std::int64_t{0});
  add("decoder_layers", s.decoder_layers, std::int64_t{0});
  add("relative_buckets", s.relative_buckets, std::int64_t{0});
  const RopeScaling& r = s.rope_scaling;
  text += newer_fields(s) + canonical_text(s.experts) + canonical_text(s.conv);
  if (r.kind == RopeScalingKind::kNone) return text;
  text += fmt::format(" rope_scaling={} rope_factor={:.17g}", to_text(r.kind), r.factor);
  if (r.kind == RopeScalingKind::kLinear) return text;
  return text + fmt::format(" rope_low={:.17g} rope_high={:.17g} rope_original={:.17g}", r.low_frequency, r.high_frequency,
                            r.original_positions);
}

}  // namespace

std::string canonical_text(const ModelSpec& s) {
  return fmt::format(
             "family={} layers={} hidden={} heads={} kv_heads={} head_dim={} ffn={} vocab={} positions={} norm={} "
             "activation={} position={} tied={} attention_bias={} mlp_bias={} epsilon={:.17g} theta={:.17g}",
             to_text(s.family), s.layers, s.hidden, s.heads, s.kv_heads, s.head_dim, s.ffn, s.vocabulary, s.max_positions,
             to_text(s.norm), to_text(s.activation), to_text(s.positions), s.tied_head, s.qkv_bias, s.mlp_bias,
             s.norm_epsilon, s.rope_theta) +
         later_fields(s) + encoder_fields(s);
}

}  // namespace plimsoll
