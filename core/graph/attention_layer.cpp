#include "core/graph/attention_layer.h"

#include "core/graph/latent_attention_layer.h"
#include "core/model/distance_bucket.h"

namespace plimsoll {
namespace {

using Role = ParameterRole;
constexpr Access kR = Access::kRead;
constexpr Access kW = Access::kWrite;
constexpr Access kRw = Access::kReadWrite;
constexpr WeightAndBias kQkv{Role::kQkvWeight, Role::kQkvBias};
constexpr WeightAndBias kProjection{Role::kProjectionWeight, Role::kProjectionBias};

OpShape attention_shape(const LayerWriter& write) {
  const ModelSpec& spec = write.spec();
  return {.rows = write.rows(),
          .sequence = write.sequence(),
          .heads = spec.heads,
          .kv_heads = spec.kv_heads,
          .head_dim = spec.head_dim};
}

/// Blocks whose tokens see those after them though the model's last stack is causal.
std::int64_t encoder_blocks(const ModelSpec& spec) { return spec.has_encoder_and_decoder() ? spec.layers : 0; }

/// Rotations and norms of heads have the same sizes, and no kind.
OpShape attention_kernel_shape(const LayerWriter& write, GroupId g) {
  OpShape shape = attention_shape(write);
  const ModelSpec& spec = write.spec();
  const AttentionKind causal = spec.positions == PositionKind::kAlibi ? AttentionKind::kCausalAlibi : AttentionKind::kCausal;
  const bool reads_whole = !spec.causal || write.parameters().at(g).block < encoder_blocks(spec);
  const AttentionKind kind = !reads_whole ? causal : spec.pads() ? AttentionKind::kPadded : AttentionKind::kFull;
  shape.variant = static_cast<std::uint8_t>(kind);
  return shape;
}

/// Where blocks with a window have a base of their own, the spec's scaling is of the other blocks' rotation (Gemma 3).
OpShape rope_shape(const LayerWriter& write, GroupId g) {
  OpShape shape = attention_shape(write);
  const ModelSpec& spec = write.spec();
  const std::int64_t block = write.parameters().at(g).block;
  shape.inputs = spec.rotary_width() == spec.head_dim ? 0 : spec.rotary_width();
  shape.variant = spec.local_rope_theta > 0 && spec.has_window(block) ? 1 : 0;
  shape.constant = spec.theta_of(block);
  return shape;
}

/// A norm that spans all heads is that of one head as wide as they are; there are as many key heads then (buildable.h).
OpShape head_norm_shape(const LayerWriter& write) {
  const ModelSpec& spec = write.spec();
  const bool wide = spec.wide_qk_norm;
  return {.rows = write.rows(), .heads = wide ? 1 : spec.heads, .kv_heads = wide ? 1 : spec.kv_heads,
          .head_dim = wide ? spec.attention_width() : spec.head_dim,
          .variant = static_cast<std::uint8_t>(spec.norm), .constant = spec.norm_epsilon};
}

/// The heads' norms have a tensor of their own: backward needs what went in.
TensorId normalize_heads(LayerWriter& write, GroupId g, SavedAttention& saved) {
  const ModelSpec& spec = write.spec();
  const TensorId y = write.activation(spec.qkv_width(), "normalized qkv");
  saved.head_statistics = write.statistics(spec.wide_qk_norm ? 2 : spec.heads + spec.kv_heads, "head statistics");
  write.build().add(OpKind::kHeadNorm, head_norm_shape(write),
                    {{saved.raw_qkv, kR}, {write.weight(g, Role::kQueryNormWeight), kR},
                     {write.weight(g, Role::kKeyNormWeight), kR}, {y, kW}, {saved.head_statistics, kW}});
  return y;
}

void normalize_heads_backward(LayerWriter& write, GroupId g, TensorId d_qkv, const SavedAttention& saved) {
  write.build().add_with_workspace(
      OpKind::kHeadNormBackward, head_norm_shape(write),
      {{d_qkv, kRw}, {saved.raw_qkv, kR}, {write.weight(g, Role::kQueryNormWeight), kR},
       {write.weight(g, Role::kKeyNormWeight), kR}, {saved.head_statistics, kR},
       {write.weight_gradient(g, Role::kQueryNormWeight), kW}, {write.weight_gradient(g, Role::kKeyNormWeight), kW}});
}

bool adds_bias(const LayerWriter& write) { return write.spec().positions == PositionKind::kRelative; }

OpShape distance_bias_shape(const LayerWriter& write, GroupId g) {
  return {.rows = write.spec().relative_buckets,
          .inputs = kFarthestDistance,
          .sequence = write.sequence(),
          .heads = write.spec().heads,
          .variant = attention_kernel_shape(write, g).variant};
}

/// Where the block has the table of its stack: what every block of it adds to its scores, and where they put the
/// gradient.
void make_bias(LayerWriter& write, GroupId g, SavedAttention& saved) {
  const TensorId table = write.weight(g, Role::kRelativeBias);
  if (!table.valid()) return;
  const DType wide = sum_dtype(write.recipe().precision);
  const std::int64_t numbers = write.spec().heads * distance_count(write.sequence());
  saved.distance_bias = write.build().make(TensorKind::kActivation, numbers, wide, "distance bias");
  saved.d_distance_bias = write.build().make(TensorKind::kActivationGradient, numbers, wide, "distance bias gradient");
  write.build().add(OpKind::kDistanceBias, distance_bias_shape(write, g), {{table, kR}, {saved.distance_bias, kW}});
}

/// Gradient of qkv from that of what attention made.
void scores_backward(LayerWriter& write, GroupId g, TensorId d_attention, TensorId d_qkv, const SavedAttention& saved) {
  const OpShape shape = attention_kernel_shape(write, g);
  if (!adds_bias(write)) {
    return write.build().add_with_workspace(OpKind::kAttentionBackward, shape,
                                            {{saved.qkv, kR},
                                             {write.batch().extents, kR},
                                             {saved.attention, kR},
                                             {saved.log_sum_exp, kR},
                                             {d_attention, kR},
                                             {d_qkv, kW}});
  }
  write.build().add_with_workspace(OpKind::kBiasedAttentionBackward, shape,
                                   {{saved.qkv, kR},
                                    {saved.distance_bias, kR},
                                    {saved.attention, kR},
                                    {saved.log_sum_exp, kR},
                                    {d_attention, kR},
                                    {d_qkv, kW},
                                    {saved.d_distance_bias, saved.last_of_stack ? kW : kRw}});
  const TensorId d_table = write.weight_gradient(g, Role::kRelativeBias);
  if (!d_table.valid()) return;
  write.build().add(OpKind::kDistanceBiasBackward, distance_bias_shape(write, g),
                    {{saved.d_distance_bias, kR}, {d_table, kW}});
}

}  // namespace

TensorId attention_forward(LayerWriter& write, GroupId g, TensorId x, SavedAttention& saved) {
  const ModelSpec& spec = write.spec();
  if (spec.latent.exists()) return latent_attention_forward(write, g, x);
  saved.raw_qkv = write.linear(g, kQkv, x, spec.hidden, spec.qkv_width(), "qkv");
  saved.qkv = spec.qk_norm ? normalize_heads(write, g, saved) : saved.raw_qkv;
  if (spec.positions == PositionKind::kRope) write.build().add(OpKind::kRope, rope_shape(write, g), {{saved.qkv, kRw}});
  saved.attention = write.activation(spec.attention_width(), "attention");
  saved.log_sum_exp = write.statistics(spec.heads, "log-sum-exp");
  if (adds_bias(write)) make_bias(write, g, saved);
  write.build().add_with_workspace(adds_bias(write) ? OpKind::kBiasedAttention : OpKind::kAttention,
                                   attention_kernel_shape(write, g),
                                   {{saved.qkv, kR},
                                    {adds_bias(write) ? saved.distance_bias : write.batch().extents, kR},
                                    {saved.attention, kW},
                                    {saved.log_sum_exp, kW}});
  return write.linear(g, kProjection, saved.attention, spec.attention_width(), spec.hidden, "attention projection");
}

TensorId attention_backward(LayerWriter& write, GroupId g, TensorId d_stream, TensorId x, const SavedAttention& saved) {
  const ModelSpec& spec = write.spec();
  const TensorId d_attention =
      write.linear_backward(g, kProjection, d_stream, saved.attention, spec.attention_width(), spec.hidden, "attention gradient");
  const TensorId d_qkv = write.gradient(spec.qkv_width(), "qkv gradient");
  scores_backward(write, g, d_attention, d_qkv, saved);
  if (spec.positions == PositionKind::kRope) write.build().add(OpKind::kRopeBackward, rope_shape(write, g), {{d_qkv, kRw}});
  if (spec.qk_norm) normalize_heads_backward(write, g, d_qkv, saved);
  return write.linear_backward(g, kQkv, d_qkv, x, spec.hidden, spec.qkv_width(), "norm 1 gradient");
}

}  // namespace plimsoll
