#include "core/graph/attention_layer.h"

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
  return {.rows = write.rows(), .sequence = write.recipe().sequence, .heads = spec.heads, .kv_heads = spec.kv_heads,
          .head_dim = spec.head_dim};
}

/// Rotations and norms of heads have the same sizes, and no kind.
OpShape attention_kernel_shape(const LayerWriter& write) {
  OpShape shape = attention_shape(write);
  const ModelSpec& spec = write.spec();
  const AttentionKind causal = spec.positions == PositionKind::kAlibi ? AttentionKind::kCausalAlibi : AttentionKind::kCausal;
  const AttentionKind kind = spec.causal ? causal : spec.pads() ? AttentionKind::kPadded : AttentionKind::kFull;
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

}  // namespace

TensorId attention_forward(LayerWriter& write, GroupId g, TensorId x, SavedAttention& saved) {
  const ModelSpec& spec = write.spec();
  saved.raw_qkv = write.linear(g, kQkv, x, spec.hidden, spec.qkv_width(), "qkv");
  saved.qkv = spec.qk_norm ? normalize_heads(write, g, saved) : saved.raw_qkv;
  if (spec.positions == PositionKind::kRope) write.build().add(OpKind::kRope, rope_shape(write, g), {{saved.qkv, kRw}});
  saved.attention = write.activation(spec.attention_width(), "attention");
  saved.log_sum_exp = write.statistics(spec.heads, "log-sum-exp");
  write.build().add_with_workspace(OpKind::kAttention, attention_kernel_shape(write),
                                   {{saved.qkv, kR}, {write.batch().extents, kR}, {saved.attention, kW},
                                    {saved.log_sum_exp, kW}});
  return write.linear(g, kProjection, saved.attention, spec.attention_width(), spec.hidden, "attention projection");
}

TensorId attention_backward(LayerWriter& write, GroupId g, TensorId d_stream, TensorId x, const SavedAttention& saved) {
  const ModelSpec& spec = write.spec();
  const TensorId d_attention =
      write.linear_backward(g, kProjection, d_stream, saved.attention, spec.attention_width(), spec.hidden, "attention gradient");
  const TensorId d_qkv = write.gradient(spec.qkv_width(), "qkv gradient");
  write.build().add_with_workspace(
      OpKind::kAttentionBackward, attention_kernel_shape(write),
      {{saved.qkv, kR}, {write.batch().extents, kR}, {saved.attention, kR}, {saved.log_sum_exp, kR}, {d_attention, kR},
       {d_qkv, kW}});
  if (spec.positions == PositionKind::kRope) write.build().add(OpKind::kRopeBackward, rope_shape(write, g), {{d_qkv, kRw}});
  if (spec.qk_norm) normalize_heads_backward(write, g, d_qkv, saved);
  return write.linear_backward(g, kQkv, d_qkv, x, spec.hidden, spec.qkv_width(), "norm 1 gradient");
}

}  // namespace plimsoll
