#include "core/graph/cross_attention_layer.h"

namespace plimsoll {
namespace {

using Role = ParameterRole;
constexpr Access kR = Access::kRead;
constexpr Access kW = Access::kWrite;
constexpr Access kRw = Access::kReadWrite;
/// No family has biases here: the roles of biases are never found.
constexpr WeightAndBias kNorm{Role::kCrossNormWeight, Role::kNorm1Bias};
constexpr WeightAndBias kQuery{Role::kCrossQueryWeight, Role::kQkvBias};
constexpr WeightAndBias kKeyValue{Role::kCrossKeyValueWeight, Role::kQkvBias};
constexpr WeightAndBias kProjection{Role::kCrossProjectionWeight, Role::kProjectionBias};

std::int64_t keys_width(const ModelSpec& spec) { return 2 * spec.kv_heads * spec.head_dim; }

OpShape attention_shape(const LayerWriter& write, const EncoderOutput& memory) {
  const ModelSpec& spec = write.spec();
  return {.rows = write.rows(),
          .inputs = memory.sequence,
          .sequence = write.sequence(),
          .heads = spec.heads,
          .kv_heads = spec.kv_heads,
          .head_dim = spec.head_dim,
          .variant = static_cast<std::uint8_t>(AttentionKind::kFull)};
}

/// Writes for the encoder's tokens.
LayerWriter of_memory(const LayerWriter& write, const EncoderOutput& memory) {
  return write.of_rows(write.recipe().micro_batch * memory.sequence);
}

/// The gradients of the keys' weight, and of what they were made of.
void memory_backward(LayerWriter& write, GroupId g, TensorId d_keys, const SavedCrossAttention& saved) {
  const ModelSpec& spec = write.spec();
  const OpShape shape = of_memory(write, saved.memory).linear_shape(spec.hidden, keys_width(spec));
  write.build().add(OpKind::kLinearBackwardInput, shape,
                    {{d_keys, kR},
                     {write.weight(g, kKeyValue.weight), kR},
                     {saved.memory.gradient, saved.first_in_backward ? kW : kRw}});
  write.build().add(OpKind::kLinearBackwardWeight, shape,
                    {{d_keys, kR}, {saved.memory.made, kR}, {write.weight_gradient(g, kKeyValue.weight), kW}});
}

}  // namespace

TensorId cross_attention_forward(LayerWriter& write, GroupId g, TensorId stream, SavedCrossAttention& saved) {
  const ModelSpec& spec = write.spec();
  saved.input = stream;
  saved.norm = write.norm(g, kNorm, stream, saved.statistics, "cross norm");
  saved.queries = write.linear(g, kQuery, saved.norm, spec.hidden, spec.attention_width(), "cross queries");
  saved.keys = of_memory(write, saved.memory)
                   .linear(g, kKeyValue, saved.memory.made, spec.hidden, keys_width(spec), "cross keys");
  saved.attention = write.activation(spec.attention_width(), "cross attention");
  saved.log_sum_exp = write.statistics(spec.heads, "cross log-sum-exp");
  write.build().add_with_workspace(
      OpKind::kCrossAttention, attention_shape(write, saved.memory),
      {{saved.queries, kR}, {saved.keys, kR}, {saved.attention, kW}, {saved.log_sum_exp, kW}});
  const TensorId made =
      write.linear(g, kProjection, saved.attention, spec.attention_width(), spec.hidden, "cross attention projection");
  return write.add(stream, made, TensorKind::kActivation, "cross residual");
}

void cross_attention_backward(LayerWriter& write, GroupId g, TensorId d_stream, const SavedCrossAttention& saved) {
  const ModelSpec& spec = write.spec();
  const TensorId d_attention = write.linear_backward(g, kProjection, d_stream, saved.attention, spec.attention_width(),
                                                     spec.hidden, "cross attention gradient");
  const TensorId d_queries = write.gradient(spec.attention_width(), "cross queries gradient");
  const TensorId d_keys = of_memory(write, saved.memory).gradient(keys_width(spec), "cross keys gradient");
  write.build().add_with_workspace(OpKind::kCrossAttentionBackward, attention_shape(write, saved.memory),
                                   {{saved.queries, kR},
                                    {saved.keys, kR},
                                    {saved.attention, kR},
                                    {saved.log_sum_exp, kR},
                                    {d_attention, kR},
                                    {d_queries, kW},
                                    {d_keys, kW}});
  memory_backward(write, g, d_keys, saved);
  const TensorId d_norm = write.linear_backward(g, kQuery, d_queries, saved.norm, spec.hidden, spec.attention_width(),
                                                "cross norm gradient");
  write.norm_backward(g, kNorm, d_norm, saved.input, saved.statistics, d_stream, kRw);
}

}  // namespace plimsoll
