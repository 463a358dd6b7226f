#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/model/conv_layers.h"
#include "core/model/distance_bucket.h"
#include "core/model/model_spec.h"

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
  if (spec.experts.dense_first >= spec.layers) {
    return bad(spec, fmt::format("dense_first={} leaves no block of {} with experts", spec.experts.dense_first, spec.layers));
  }
  if (spec.experts.shared_width > kMaxSize) {
    return bad(spec, fmt::format("shared_width={} is larger than {}", spec.experts.shared_width, kMaxSize));
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

Result<void> validate_conv_net(const ModelSpec& spec) {
  constexpr std::int64_t kMostBlocks = 10000;
  const ConvNet& net = spec.conv;
  const auto positive = [](std::int64_t n) { return n > 0 && n <= kMostBlocks; };
  if (net.depths.empty() || net.depths.size() > 8) return bad(spec, "a convolutional net has 1 to 8 stages", "depths=3-4-6-3");
  if (!std::all_of(net.depths.begin(), net.depths.end(), positive)) {
    return bad(spec, fmt::format("every stage of a convolutional net has 1 to {} blocks", kMostBlocks));
  }
  if (!positive(net.width) || !positive(net.groups)) return bad(spec, "width and groups must be positive");
  if (net.kind == ConvNetKind::kDenseNet && !positive(net.growth)) return bad(spec, "a DenseNet needs a growth", "growth=32");
  const std::int64_t inner = 64 * net.width / 64 * net.groups;
  if (net.kind == ConvNetKind::kResNet && (inner == 0 || inner % net.groups != 0)) {
    return bad(spec, fmt::format("width={} does not give every one of {} groups a channel", net.width, net.groups));
  }
  if (spec.classes < 1 || spec.classes > kMaxSize || spec.head != HeadKind::kClass) {
    return bad(spec, fmt::format("classes must lie between 1 and {}, not {}", kMaxSize, spec.classes));
  }
  if (spec.layers != conv_blocks(net)) {
    return bad(spec, fmt::format("the stages of {} have {} blocks, but layers={}", spec.name, conv_blocks(net), spec.layers));
  }
  // Every stage halves a side, and stems do so once or twice before.
  const std::int64_t smallest = std::max<std::int64_t>(32, std::int64_t{1} << (net.depths.size() + 1));
  if (spec.image.size >= smallest && spec.image.size <= 1 << 14 && spec.image.channels >= 1 && spec.image.channels <= 3) return {};
  return bad(spec, fmt::format("images have {} to {} pixels a side and 1 to 3 channels, not {} and {}", smallest, 1 << 14,
                               spec.image.size, spec.image.channels));
}

/// What belongs to other architectures than a plain decoder's.
Result<void> validate_architecture(const ModelSpec& spec) {
  if (spec.parallel_norms && !spec.parallel_block) return bad(spec, "parallel_norms belong to a parallel block");
  if (spec.embedding_width < 0 || spec.position_offset < 0 || spec.decoder_layers < 0 || spec.relative_buckets < 0) {
    return bad(spec, "embedding_width, position_offset, decoder_layers and relative_buckets are not negative");
  }
  if (spec.embedding_width > kMaxSize || spec.position_offset > kMaxSize || spec.relative_buckets > kMaxSize) {
    return bad(spec, fmt::format("embedding_width, position_offset and relative_buckets are at most {}", kMaxSize));
  }
  if (spec.decoder_layers > 100000) return bad(spec, fmt::format("decoder_layers={} is larger than 100000", spec.decoder_layers));
  if (spec.decoder_layers > 0 && (spec.head != HeadKind::kNextToken || spec.reads_images())) {
    return bad(spec, "a decoder behind an encoder learns the next token");
  }
  if ((spec.positions == PositionKind::kRelative) != (spec.relative_buckets > 0)) {
    return bad(spec, "relative positions need relative_buckets, and nothing else does");
  }
  if (spec.relative_buckets > 0 && (spec.relative_buckets < kFewestBuckets || spec.relative_buckets > kMostBuckets)) {
    return bad(
        spec, fmt::format("relative_buckets={} does not lie between {} and {}: distances of up to {} tokens share them",
                          spec.relative_buckets, kFewestBuckets, kMostBuckets, kFarthestDistance));
  }
  if (spec.rope_interleaved && spec.positions != PositionKind::kRope) return bad(spec, "rope_interleaved needs rotary positions");
  if (spec.position_offset > 0 && spec.positions != PositionKind::kLearned) {
    return bad(spec, "position_offset belongs to a table of positions");
  }
  return {};
}

Result<void> validate_latent(const ModelSpec& spec) {
  const LatentAttention& latent = spec.latent;
  if (!latent.exists()) {
    return latent == LatentAttention{} ? Result<void>() : bad(spec, "latent attention needs kv_rank");
  }
  const struct {
    std::string_view key;
    std::int64_t value, least;
  } sizes[] = {{"kv_rank", latent.kv_rank, 1},     {"q_rank", latent.q_rank, 0},       {"plain_dim", latent.plain_dim, 1},
               {"rope_dim", latent.rope_dim, 2},   {"value_dim", latent.value_dim, 1}};
  for (const auto& [key, value, least] : sizes) {
    if (value < least || value > kMaxSize) {
      return bad(spec, fmt::format("{}={} of latent attention does not lie between {} and {}", key, value, least, kMaxSize));
    }
  }
  if (latent.rope_dim % 2 != 0) return bad(spec, fmt::format("rope_dim={} must be even for rotary positions", latent.rope_dim));
  if (spec.kv_heads == spec.heads && !spec.qk_norm && !spec.qkv_bias && !spec.projection_bias) return {};
  return bad(spec, "latent attention has keys for every head, no biases and no norms of heads");
}

/// What only some newer decoders have.
Result<void> validate_newer(const ModelSpec& spec) {
  if (spec.norms_behind() && (spec.post_norm || spec.parallel_block)) {
    return bad(spec, "norms behind the halves of a block go neither with post_norm nor with a parallel block");
  }
  if (spec.norms_behind() && spec.norm == NormKind::kLayerNorm) {
    return bad(spec, "norms behind the halves of a block are RMS norms");
  }
  if (!spec.norm_weight && spec.norm != NormKind::kLayerNorm) return bad(spec, "only LayerNorms go without weights");
  if (spec.wide_qk_norm && !spec.qk_norm) return bad(spec, "wide_qk_norm says how qk_norm is meant, which is off");
  for (const auto& [key, cap] : {std::pair("score_cap", spec.score_cap), std::pair("logit_cap", spec.logit_cap)}) {
    if (!(cap >= 0) || !std::isfinite(cap)) return bad(spec, fmt::format("{}={} is negative or no number", key, cap));
  }
  if (spec.full_every < 0) return bad(spec, fmt::format("full_every={} is negative", spec.full_every));
  if (spec.full_every > 0 && spec.window == 0) return bad(spec, "full_every says which blocks have no window, and there is none");
  if (!(spec.local_rope_theta >= 0) || !std::isfinite(spec.local_rope_theta)) {
    return bad(spec, fmt::format("local_theta={} is negative or no number", spec.local_rope_theta));
  }
  if (spec.local_rope_theta > 0 && (spec.full_every == 0 || spec.positions != PositionKind::kRope)) {
    return bad(spec, "local_theta is of rotary blocks with a window beside blocks without one: full_every is 0");
  }
  return validate_latent(spec);
}

/// What belongs to attention by distance alone.
Result<void> validate_distance(const ModelSpec& spec) {
  const bool clusters = spec.adaptive != AdaptiveVocabulary{};
  if (spec.memory < 0 || spec.memory > kMaxSize) return bad(spec, fmt::format("memory={} does not lie between 0 and {}", spec.memory, kMaxSize));
  if (spec.positions != PositionKind::kDistance) {
    return spec.memory == 0 && !clusters ? Result<void>() : bad(spec, "memory and cutoffs belong to positions by distance");
  }
  const bool plain = spec.causal && spec.post_norm && spec.tied_head && spec.head_bias && spec.mlp_bias && spec.norm == NormKind::kLayerNorm;
  if (!plain || spec.qkv_bias || spec.projection_bias || spec.kv_heads != spec.heads || spec.experts.count > 0 ||
      spec.embedding_width > 0 || spec.window > 0 || is_gated(spec.activation) || spec.latent.exists() || spec.norms_behind()) {
    return bad(spec, "positions by distance are those of Transformer-XL, whose blocks and head are as its authors have them");
  }
  std::int64_t first = 0;
  for (const std::int64_t cutoff : spec.adaptive.cutoffs) {
    if (cutoff <= first || cutoff >= spec.vocabulary) return bad(spec, "cutoffs rise, from 1 on, and stay below the vocabulary");
    first = cutoff;
  }
  constexpr std::size_t kMostCutoffs = 8;
  if (spec.adaptive.cutoffs.size() > kMostCutoffs) return bad(spec, fmt::format("there are at most {} cutoffs", kMostCutoffs));
  if (spec.adaptive.divisor < 1 || spec.adaptive.divisor > kMaxSize) return bad(spec, fmt::format("divisor={} is not positive", spec.adaptive.divisor));
  if (spec.adaptive.projects() && !spec.adaptive.exists()) return bad(spec, "divisor says how widths of clusters fall, and there are no cutoffs");
  if (word_clusters(spec.adaptive, spec.vocabulary, spec.hidden).back().width > 0) return {};
  return bad(spec, fmt::format("divisor={} leaves the last cluster no width", spec.adaptive.divisor));
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

}  // namespace

Result<void> validate(const ModelSpec& spec) {
  if (spec.is_conv_net()) return validate_conv_net(spec);
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
  for (const auto check : {validate_images, validate_encoder, validate_architecture, validate_newer, validate_distance}) {
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

}  // namespace plimsoll
