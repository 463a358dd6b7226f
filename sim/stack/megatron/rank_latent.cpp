#include "sim/stack/megatron/rank_latent.h"

#include <utility>

#include "sim/stack/megatron/rank_rows.h"

namespace plimsoll {
namespace {

/// A matrix that every rank has, over its own rows of the stream.
Tensor whole_linear(Tape& tape, const Tensor& x, const Weights& weights, const MegatronCut& cut) {
  MegatronCut own = cut;
  own.tensor_ranks = 1;
  own.sequence_parallel = false;
  own.batch = 1;
  own.sequence = cut.stream_rows();
  return column_parallel(tape, x, weights, own);
}

Tensor normed(Tape& tape, const Tensor& x, const Weights& norm, const ModelSpec& spec) {
  return spec.norm == NormKind::kLayerNorm ? layer_norm(tape, x, norm) : fused_rms_norm(tape, x, *norm.weight);
}

/// The keys' rotated part of all rows, which all heads share.
Tensor gathered(Tape& tape, const Tensor& x, const MegatronCut& cut) {
  if (!cut.sequence_parallel || cut.tensor_ranks < 2) return x;
  Tensor out = all_rows(tape, x, x.shape.back(), cut, Waits::kYes);
  return tape.record(std::move(out), {&x}, [cut, own = x.shape](Tape& t, Tensors gradients) {
    return only(summed(t, std::move(gradients[0]), own, cut, Waits::kYes));
  });
}

/// One kernel turns the rotated part where it is, there and back, and keeps nothing but angles (fused_mla_yarn_rope_apply.py).
Tensor turned_in_place(Tape& tape, const Tensor& x, double bytes) {
  tape.stream(bytes, x.dtype);
  return tape.record(x.detached(), {&x}, [bytes, type = x.dtype](Tape& t, Tensors gradients) {
    t.stream(bytes, type);
    return only(std::move(gradients[0]));
  });
}

}  // namespace

RankLatent make_rank_latent(Tape& tape, const std::string& name, const ModelSpec& spec, const MegatronCut& cut) {
  const LatentAttention& latent = spec.latent;
  const std::int64_t heads = spec.heads / cut.tensor_ranks;
  const auto matrix = [&](const char* part, std::int64_t outputs, std::int64_t inputs) {
    return Weights{.weight = &tape.parameter(name + part, {outputs, inputs}, cut.type)};
  };
  const auto norm = [&](const std::string& part, std::int64_t width) {
    Weights made{.weight = &tape.parameter(name + part, {width}, cut.type)};
    if (spec.norm == NormKind::kLayerNorm) made.bias = &tape.parameter(name + part + ".bias", {width}, cut.type);
    return made;
  };
  RankLatent made;
  if (latent.q_rank > 0) {
    made.query_down = matrix(".query_down", latent.q_rank, spec.hidden);
    made.query_norm = norm(".latent_query_norm", latent.q_rank);
  }
  made.query = matrix(".query", heads * latent.key_dim(), latent.q_rank > 0 ? latent.q_rank : spec.hidden);
  made.down = matrix(".down", latent.kv_rank + latent.rope_dim, spec.hidden);
  made.norm = norm(".latent_norm", latent.kv_rank);
  made.key_value = matrix(".key_value", heads * (latent.plain_dim + latent.value_dim), latent.kv_rank);
  made.angles = tape.empty({cut.sequence, latent.rope_dim}, DType::kFp32, Holding::kWorkspace);
  return made;
}

RankHeads rank_latent_heads(Tape& tape, const Tensor& x, const RankLatent& own, const ModelSpec& spec, const MegatronCut& cut) {
  const LatentAttention& latent = spec.latent;
  const std::int64_t heads = spec.heads / cut.tensor_ranks, rows = cut.rows();
  const Tensor narrow = latent.q_rank > 0 ? normed(tape, whole_linear(tape, x, own.query_down, cut), own.query_norm, spec) : x;
  const Tensors lowered = split(tape, whole_linear(tape, x, own.down, cut), {latent.kv_rank, latent.rope_dim});
  const Tensor compressed = normed(tape, lowered[0], own.norm, spec);
  Tensor queries = column_parallel(tape, narrow, own.query, cut);
  queries = turned_in_place(tape, queries, 2 * traffic(queries) * static_cast<double>(latent.rope_dim) / static_cast<double>(latent.key_dim()));
  const Tensor wide = view(tape, column_parallel(tape, compressed, own.key_value, cut), {rows, heads, latent.plain_dim + latent.value_dim});
  Tensors parts = split(tape, wide, {latent.plain_dim, latent.value_dim});
  for (Tensor& part : parts) part.order = {kStrided};
  const Tensor of_all = view(tape, gathered(tape, lowered[1], cut), {rows, 1, latent.rope_dim});
  const Tensor keys = concatenate(tape, {parts[0], expand_head(tape, of_all, heads)}, 2);
  const Tensor values = contiguous(tape, parts[1]);
  return {.queries = queries, .keys = view(tape, keys, {rows, heads * latent.key_dim()}), .values = view(tape, values, {rows, heads * latent.value_dim})};
}

}  // namespace plimsoll
