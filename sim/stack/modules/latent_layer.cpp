#include "sim/stack/modules/transformer_layers.h"

namespace plimsoll {

LatentWeights make_latent(const DenseMaker& make, const std::string& name, const ModelSpec& spec) {
  const LatentAttention& latent = spec.latent;
  const std::int64_t queries = spec.heads * latent.key_dim();
  LatentWeights made;
  const auto plain = [&](const char* part, std::int64_t inputs, std::int64_t outputs) {
    DenseLayer layer = make.make_plain(name + part, inputs, outputs, false);
    layer.fp8 = make.fp8;
    return layer;
  };
  if (latent.q_rank > 0) {
    made.query_down = plain(".query_down", spec.hidden, latent.q_rank);
    made.query_norm = make_norm(make, name + ".query_norm", spec, latent.q_rank);
  }
  made.query = plain(".query", latent.q_rank > 0 ? latent.q_rank : spec.hidden, queries);
  made.down = plain(".down", spec.hidden, latent.kv_rank + latent.rope_dim);
  made.norm = make_norm(make, name + ".norm", spec, latent.kv_rank);
  made.key_value = plain(".key_value", latent.kv_rank, spec.heads * (latent.plain_dim + latent.value_dim));
  return made;
}

// As transformers 5 writes DeepSeek 3: both parts of queries and keys are put together again behind the rotation, which
// reads neighbouring pairs from a copy in another order.
AttentionHeads latent_heads(Tape& tape, const Tensor& x, const LatentWeights& weights, const BlockContext& context) {
  const ModelSpec& spec = context.spec;
  const LatentAttention& latent = spec.latent;
  const std::int64_t b = context.batch, s = context.sequence;
  const auto turned = [&](const Tensor& part) { return rotate(tape, contiguous(tape, part), context); };
  Tensor narrow_q = x;
  if (latent.q_rank > 0)
    narrow_q = norm_layer(tape, dense_layer(tape, x, weights.query_down), weights.query_norm, context);
  const Tensor queries = transpose(
      tape, view(tape, dense_layer(tape, narrow_q, weights.query), {b, s, spec.heads, latent.key_dim()}), 1, 2);
  const Tensors query = split(tape, queries, {latent.plain_dim, latent.rope_dim});
  const Tensors lowered = split(tape, dense_layer(tape, x, weights.down), {latent.kv_rank, latent.rope_dim});
  const Tensor of_all = turned(transpose(tape, view(tape, lowered[1], {b, s, 1, latent.rope_dim}), 1, 2));
  const Tensor wide = dense_layer(tape, norm_layer(tape, lowered[0], weights.norm, context), weights.key_value);
  const Tensor cut = transpose(tape, view(tape, wide, {b, s, spec.heads, latent.plain_dim + latent.value_dim}), 1, 2);
  const Tensors parts = split(tape, cut, {latent.plain_dim, latent.value_dim});
  return {.q = concatenate(tape, {query[0], turned(query[1])}, 3),
          .k = concatenate(tape, {parts[0], repeat_heads(tape, of_all, spec.heads)}, 3),
          .v = parts[1]};
}

}  // namespace plimsoll
