#include "core/model/model_spec.h"

#include <fmt/format.h>

#include <cmath>

namespace plimsoll {
namespace {

constexpr std::int64_t kMaxSize = std::int64_t{1} << 24;
constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;

tl::unexpected<Error> bad(const ModelSpec& spec, std::string what, std::string remedy = {}) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = spec.name, .remedy = std::move(remedy)});
}

Result<void> validate_rotary(const ModelSpec& spec) {
  if (spec.positions != PositionKind::kRope) return {};
  if (spec.rotary_dim < 0 || spec.rotary_dim > spec.head_dim) {
    return bad(spec, fmt::format("rotary_dim={} does not lie between 0 and head_dim={}", spec.rotary_dim, spec.head_dim));
  }
  if (spec.rotary_width() % 2 != 0) {
    return bad(spec, fmt::format("{}={} must be even for rotary positions", spec.rotary_dim == 0 ? "head_dim" : "rotary_dim",
                                 spec.rotary_width()));
  }
  const RopeScaling& scaling = spec.rope_scaling;
  if (scaling.kind == RopeScalingKind::kNone) return {};
  if (!(scaling.factor >= 1) || !std::isfinite(scaling.factor)) {
    return bad(spec, fmt::format("a rotary scaling factor of {} is not 1 or more", scaling.factor));
  }
  if (scaling.kind == RopeScalingKind::kLinear) return {};
  if (scaling.low_frequency > 0 && scaling.high_frequency > scaling.low_frequency && scaling.original_positions > 0) return {};
  return bad(spec, fmt::format("rotary scaling with low_frequency={}, high_frequency={} and original_positions={}: the first "
                               "must be positive and below the second, the last positive",
                               scaling.low_frequency, scaling.high_frequency, scaling.original_positions));
}

Result<void> validate_experts(const ModelSpec& spec) {
  if (auto mixture = validate(spec.experts); !mixture) return bad(spec, mixture.error().what, mixture.error().remedy);
  if (spec.experts.count == 0) return {};
  if (spec.experts.every > spec.layers) {
    return bad(spec, fmt::format("every={} leaves no block of {} with experts", spec.experts.every, spec.layers));
  }
  if (spec.expert_width() > kMaxSize) {
    return bad(spec, fmt::format("expert_ffn={} is larger than {}", spec.expert_width(), kMaxSize));
  }
  if (spec.experts.count * spec.expert_in_width() <= kMaxElements / spec.hidden) return {};
  return bad(spec, "the experts of a block have more than 2^40 elements in a matrix");
}

Result<void> validate_images(const ModelSpec& spec) {
  const ImageInput& image = spec.image;
  if (!spec.reads_images()) return {};
  if (image.patch <= 0 || image.size % image.patch != 0 || image.size > 1 << 14) {
    return bad(spec, fmt::format("images of {0} x {0} pixels cannot be cut into patches of {1}", image.size, image.patch));
  }
  if (image.channels < 1 || image.channels > 3)
    return bad(spec, fmt::format("images have 1 to 3 channels, not {}", image.channels));
  for (const double deviation : image.deviation) {
    if (!(deviation > 0) || !std::isfinite(deviation))
      return bad(spec, fmt::format("a deviation of {} is not positive", deviation));
  }
  if (spec.max_positions == image.patches() + 1) return {};
  return bad(spec, fmt::format("{} patches and the class token need {} positions, not {}", image.patches(), image.patches() + 1,
                               spec.max_positions));
}

/// Which of an encoder's features go together.
Result<void> validate_encoder(const ModelSpec& spec) {
  if (spec.causal != (spec.head == HeadKind::kNextToken)) {
    return bad(spec, "the next token is asked of causal models, hidden tokens and classes of the others");
  }
  if (spec.head == HeadKind::kClass && (spec.classes < 1 || spec.classes > kMaxSize)) {
    return bad(spec, fmt::format("classes must lie between 1 and {}, not {}", kMaxSize, spec.classes));
  }
  if (spec.head == HeadKind::kClass && spec.tied_head) return bad(spec, "a head of classes cannot be tied to the embedding");
  if (spec.pooler && spec.head != HeadKind::kClass) return bad(spec, "a pooler belongs to a head of classes");
  if (spec.reads_images() && spec.head != HeadKind::kClass) return bad(spec, "images have classes, not tokens");
  if (!spec.causal && spec.experts.count > 0) return bad(spec, "experts belong to decoders");
  if (spec.post_norm && spec.parallel_block) return bad(spec, "a parallel block has its norm before it");
  if (!spec.causal && spec.window > 0) return bad(spec, "a window belongs to causal attention");
  if (spec.token_types < 0 || spec.token_types > 255)
    return bad(spec, fmt::format("token_types={} is not below 256", spec.token_types));
  if (spec.mask_token >= spec.vocabulary && spec.mask_token != -1) {
    return bad(spec, fmt::format("the mask token {} is beyond the vocabulary of {}", spec.mask_token, spec.vocabulary));
  }
  return {};
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
  if (family == Family::kBert || family == Family::kVit) return encoder_defaults(spec);
  spec.positions = PositionKind::kRope;
  spec.tied_head = false;
  if (family == Family::kPhi) {
    spec.parallel_block = true;
    spec.head_bias = true;
    return spec;
  }
  spec.norm = NormKind::kRmsNorm;
  spec.activation = ActivationKind::kSwiGlu;
  spec.qkv_bias = family == Family::kQwen2;
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

Result<void> validate(const ModelSpec& spec) {
  const struct {
    std::string_view key;
    std::int64_t value;
  } sizes[] = {{"layers", spec.layers},     {"hidden", spec.hidden},     {"heads", spec.heads},
               {"kv_heads", spec.kv_heads}, {"head_dim", spec.head_dim}, {"ffn", spec.ffn},
               {"vocab", spec.vocabulary},  {"positions", spec.max_positions}};
  for (const auto& [key, value] : sizes) {
    if (key == "vocab" && spec.reads_images()) continue;
    if (value <= 0) return bad(spec, fmt::format("{} must be positive, not {}", key, value));
    if (value > kMaxSize) return bad(spec, fmt::format("{}={} is larger than {}", key, value, kMaxSize));
  }
  if (spec.layers > 100000) return bad(spec, fmt::format("layers={} is larger than 100000", spec.layers));
  if (spec.heads % spec.kv_heads != 0) {
    return bad(spec, fmt::format("heads={} is not a multiple of kv_heads={}", spec.heads, spec.kv_heads));
  }
  if (auto rotary = validate_rotary(spec); !rotary) return rotary;
  for (const auto check : {validate_images, validate_encoder}) {
    if (auto valid = check(spec); !valid) return valid;
  }
  if (spec.qk_norm && spec.norm == NormKind::kLayerNorm) return bad(spec, "queries and keys have RMS norms only");
  if (spec.window < 0) return bad(spec, fmt::format("window={} is negative", spec.window));
  if (!(spec.embedding_scale > 0) || !std::isfinite(spec.embedding_scale)) {
    return bad(spec, fmt::format("embedding_scale={} is not a positive number", spec.embedding_scale));
  }
  if (auto mixture = validate_experts(spec); !mixture) return mixture;
  for (const std::int64_t width : {spec.vocabulary, spec.classes, spec.max_positions, spec.qkv_width(), spec.ffn_in_width()}) {
    if (width > kMaxElements / spec.hidden) return bad(spec, "a weight matrix has more than 2^40 elements");
  }
  return {};
}

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

std::string_view to_text(PositionKind positions) { return positions == PositionKind::kLearned ? "learned" : "rope"; }

std::string_view to_text(ActivationKind activation) {
  switch (activation) {
    case ActivationKind::kGelu: return "gelu";
    case ActivationKind::kGeluTanh: return "gelu_tanh";
    case ActivationKind::kSwiGlu: return "swiglu";
    case ActivationKind::kGeGluTanh: return "geglu_tanh";
    case ActivationKind::kTanh: return "tanh";
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
  const RopeScaling& r = s.rope_scaling;
  text += canonical_text(s.experts);
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
