#include "sim/stack/megatron/attention_heads.h"

#include <utility>

namespace plimsoll {
namespace {

/// Transformer Engine's kernel writes what it rotated to a new tensor and keeps the angles alone, which all layers share.
Tensor rotated_at_once(Tape& tape, const Tensor& x) {
  Tensor out = tape.empty(x.shape, x.dtype);
  tape.stream(2 * traffic(x), x.dtype);
  return tape.record(std::move(out), {&x}, [shape = x.shape, type = x.dtype](Tape& t, Tensors gradients) {
    Tensors results;
    results.push_back(t.empty(shape, type));
    t.stream(2 * traffic(gradients[0]), type);
    return results;
  });
}

/// x · cos + rotated half of x · sin, and the part that is not rotated behind it: cosines and sines of this call are kept.
Tensor rotated_by_parts(Tape& tape, const Tensor& x, const Shape& angles) {
  const Tensor cosines = tape.empty(angles, x.dtype);
  const Tensor sines = tape.empty(angles, x.dtype);
  Tensor straight = tape.empty(x.shape, x.dtype);
  Tensor turned = tape.empty(x.shape, x.dtype);
  Tensor across = tape.empty(x.shape, x.dtype);
  turned = {};
  const Tensor sum = tape.empty(x.shape, x.dtype);
  straight = across = {};
  Tensor out = tape.empty(x.shape, x.dtype);
  tape.stream(12 * traffic(x), x.dtype);
  return tape.record(std::move(out), {&x}, [=, shape = x.shape, type = x.dtype](Tape& t, Tensors gradients) {
    t.stream(12 * traffic(gradients[0]), type);
    const Tensor straight_back = t.empty(shape, cosines.dtype);
    const Tensor across_back = t.empty(shape, sines.dtype);
    Tensors results;
    results.push_back(t.empty(shape, type));
    return results;
  });
}

Tensor rotated(Tape& tape, const Tensor& x, const ModelSpec& spec, const MegatronCut& cut) {
  if (spec.positions != PositionKind::kRope) return x;
  return cut.fused_rotation ? rotated_at_once(tape, x) : rotated_by_parts(tape, x, {cut.sequence, spec.rotary_width()});
}

/// Of every head by itself: rows of heads, in order.
Tensor normed(Tape& tape, const Tensor& x, const Weights& norm, const ModelSpec& spec) {
  if (norm.weight == nullptr) return x;
  const Tensor rows = view(tape, contiguous(tape, x), {x.elements() / spec.head_dim, spec.head_dim});
  const Tensor out = spec.norm == NormKind::kLayerNorm ? layer_norm(tape, rows, norm) : fused_rms_norm(tape, rows, *norm.weight);
  return view(tape, out, x.shape);
}

/// A query head has keys of its own: copies of those that a group shares.
Tensor for_every_head(Tape& tape, const Tensor& x, const Shape& queries) {
  if (x.shape == queries) return x.detached();
  tape.stream(traffic(x) * (1 + static_cast<double>(queries.back()) / static_cast<double>(x.shape.back())), x.dtype);
  return tape.empty(queries, x.dtype);
}

}  // namespace

RankHeads detached(const RankHeads& heads) {
  if (!heads.are_apart()) return {.queries = heads.queries.detached(), .keys = {}, .values = {}};
  return {.queries = heads.queries.detached(), .keys = heads.keys.detached(), .values = heads.values.detached()};
}

RankHeads of_every_head(Tape& tape, const RankHeads& heads, const ModelSpec& spec) {
  if (!heads.are_apart() || spec.kv_heads == spec.heads) return detached(heads);
  const Shape& wide = heads.queries.shape;
  return {.queries = heads.queries.detached(), .keys = for_every_head(tape, heads.keys, wide), .values = for_every_head(tape, heads.values, wide)};
}

Tensor summed_over_heads(Tape& tape, Tensor gradient, const Tensor& read) {
  if (read.shape.empty() || gradient.shape == read.shape) return gradient;
  tape.stream(traffic(gradient) + traffic(read), read.dtype);
  return tape.empty(read.shape, read.dtype);
}

RankHeads attention_heads(Tape& tape, const Tensor& qkv, const HeadNorms& norms, const ModelSpec& spec, const MegatronCut& cut) {
  const bool grouped = spec.kv_heads != spec.heads;
  if (!grouped && norms.queries.weight == nullptr && spec.positions != PositionKind::kRope) return {.queries = qkv, .keys = {}, .values = {}};
  const std::int64_t keys = spec.kv_heads * spec.head_dim / cut.tensor_ranks;
  Tensors parts = split(tape, qkv, {spec.attention_width() / cut.tensor_ranks, keys, keys});
  for (Tensor& part : parts) part.order = {kStrided};
  if (grouped) parts[0] = contiguous(tape, parts[0]);
  parts[0] = normed(tape, parts[0], norms.queries, spec);
  parts[1] = normed(tape, parts[1], norms.keys, spec);
  Tensor queries = rotated(tape, std::exchange(parts[0], {}), spec, cut);
  Tensor rotated_keys = rotated(tape, std::exchange(parts[1], {}), spec, cut);
  return {.queries = contiguous(tape, queries), .keys = contiguous(tape, rotated_keys), .values = contiguous(tape, parts[2])};
}

}  // namespace plimsoll
