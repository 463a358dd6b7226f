#include "core/graph/latent_attention_layer.h"

namespace plimsoll {
namespace {

using Role = ParameterRole;
constexpr Access kR = Access::kRead;
constexpr Access kW = Access::kWrite;
constexpr Access kRw = Access::kReadWrite;

/// No family of latent attention has biases: the role of one is never found.
WeightAndBias of(Role weight) { return {weight, Role::kQkvBias}; }

TensorId narrow_norm(LayerWriter& write, GroupId g, Role weight, TensorId x, std::int64_t width) {
  const TensorId y = write.activation(width, "narrow norm");
  const ModelSpec& spec = write.spec();
  const OpShape shape{.rows = write.rows(),
                      .inputs = width,
                      .variant = static_cast<std::uint8_t>(spec.norm),
                      .constant = spec.norm_epsilon};
  write.build().add(OpKind::kNorm, shape,
                    {{x, kR}, {write.weight(g, weight), kR}, {y, kW}, {write.statistics(2, "norm statistics"), kW}});
  return y;
}

TensorId make_queries(LayerWriter& write, GroupId g, TensorId x) {
  const ModelSpec& spec = write.spec();
  const std::int64_t rank = spec.latent.q_rank, width = spec.heads * spec.latent.key_dim();
  if (rank == 0) return write.linear(g, of(Role::kLatentQueryWeight), x, spec.hidden, width, "queries");
  const TensorId narrow = write.linear(g, of(Role::kLatentQueryDownWeight), x, spec.hidden, rank, "narrow queries");
  const TensorId normed = narrow_norm(write, g, Role::kLatentQueryNormWeight, narrow, rank);
  return write.linear(g, of(Role::kLatentQueryWeight), normed, rank, width, "queries");
}

/// Keys of key_dim and values of value_dim: products and bytes are those of heads of the mean width.
OpShape scores_shape(const LayerWriter& write) {
  const ModelSpec& spec = write.spec();
  return {.rows = write.rows(),
          .sequence = write.recipe().sequence,
          .heads = spec.heads,
          .kv_heads = spec.heads,
          .head_dim = (spec.latent.key_dim() + spec.latent.value_dim) / 2,
          .variant = static_cast<std::uint8_t>(AttentionKind::kCausal)};
}

}  // namespace

TensorId latent_attention_forward(LayerWriter& write, GroupId g, TensorId x) {
  const ModelSpec& spec = write.spec();
  const LatentAttention& latent = spec.latent;
  const TensorId queries = make_queries(write, g, x);
  const TensorId lowered = write.linear(g, of(Role::kLatentDownWeight), x, spec.hidden,
                                        latent.kv_rank + latent.rope_dim, "narrow keys and values");
  const TensorId normed = narrow_norm(write, g, Role::kLatentNormWeight, lowered, latent.kv_rank);
  write.build().add(OpKind::kRope,
                    {.rows = write.rows(),
                     .sequence = write.recipe().sequence,
                     .heads = spec.heads,
                     .kv_heads = 1,
                     .head_dim = latent.rope_dim,
                     .constant = spec.rope_theta},
                    {{queries, kRw}, {lowered, kRw}});
  const TensorId wide = write.linear(g, of(Role::kLatentKeyValueWeight), normed, latent.kv_rank,
                                     spec.heads * (latent.plain_dim + latent.value_dim), "keys and values");
  const std::int64_t width = spec.heads * latent.value_dim;
  const TensorId attended = write.activation(width, "attention");
  write.build().add_with_workspace(
      OpKind::kAttention, scores_shape(write),
      {{queries, kR}, {wide, kR}, {lowered, kR}, {attended, kW}, {write.statistics(spec.heads, "log-sum-exp"), kW}});
  return write.linear(g, of(Role::kProjectionWeight), attended, width, spec.hidden, "attention projection");
}

}  // namespace plimsoll
