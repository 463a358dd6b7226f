#include "core/model/model_spec.h"

#include <fmt/format.h>

namespace plimsoll {
namespace {

constexpr std::int64_t kMaxSize = std::int64_t{1} << 24;
constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;

tl::unexpected<Error> bad(const ModelSpec& spec, std::string what) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = spec.name, .remedy = {}});
}

}  // namespace

ModelSpec family_defaults(Family family) {
  ModelSpec spec;
  spec.family = family;
  if (family == Family::kLlama) {
    spec.norm = NormKind::kRmsNorm;
    spec.activation = ActivationKind::kSwiGlu;
    spec.positions = PositionKind::kRope;
    spec.tied_head = false;
    spec.attention_bias = false;
    spec.mlp_bias = false;
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
    if (value <= 0) return bad(spec, fmt::format("{} must be positive, not {}", key, value));
    if (value > kMaxSize) return bad(spec, fmt::format("{}={} is larger than {}", key, value, kMaxSize));
  }
  if (spec.layers > 100000) return bad(spec, fmt::format("layers={} is larger than 100000", spec.layers));
  if (spec.heads % spec.kv_heads != 0) {
    return bad(spec, fmt::format("heads={} is not a multiple of kv_heads={}", spec.heads, spec.kv_heads));
  }
  if (spec.positions == PositionKind::kRope && spec.head_dim % 2 != 0) {
    return bad(spec, fmt::format("head_dim={} must be even for rotary positions", spec.head_dim));
  }
  for (const std::int64_t width : {spec.vocabulary, spec.max_positions, spec.qkv_width(), spec.ffn_in_width()}) {
    if (width > kMaxElements / spec.hidden) return bad(spec, "a weight matrix has more than 2^40 elements");
  }
  return {};
}

std::string_view to_text(Family family) { return family == Family::kGpt2 ? "gpt2" : "llama"; }
std::string_view to_text(NormKind norm) { return norm == NormKind::kLayerNorm ? "layernorm" : "rmsnorm"; }
std::string_view to_text(PositionKind positions) { return positions == PositionKind::kLearned ? "learned" : "rope"; }

std::string_view to_text(ActivationKind activation) {
  switch (activation) {
    case ActivationKind::kGelu: return "gelu";
    case ActivationKind::kGeluTanh: return "gelu_tanh";
    case ActivationKind::kSwiGlu: return "swiglu";
  }
  return "?";
}

std::string canonical_text(const ModelSpec& s) {
  return fmt::format(
      "family={} layers={} hidden={} heads={} kv_heads={} head_dim={} ffn={} vocab={} positions={} norm={} activation={} "
      "position={} tied={} attention_bias={} mlp_bias={} epsilon={:.17g} theta={:.17g}",
      to_text(s.family), s.layers, s.hidden, s.heads, s.kv_heads, s.head_dim, s.ffn, s.vocabulary, s.max_positions,
      to_text(s.norm), to_text(s.activation), to_text(s.positions), s.tied_head, s.attention_bias, s.mlp_bias,
      s.norm_epsilon, s.rope_theta);
}

}  // namespace plimsoll
