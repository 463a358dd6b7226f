#include "sim/stack/modules/distance_attention.h"

#include "sim/stack/modules/in_place.h"

namespace plimsoll {
namespace {

/// alpha · (a + b) in one kernel; both have the same gradient.
Tensor scaled_sum(Tape& tape, const Tensor& a, const Tensor& b) {
  Tensor out = tape.empty(a.shape, a.dtype);
  tape.stream(3 * traffic(out), out.dtype);
  return tape.record(std::move(out), {&a, &b}, [](Tape& t, Tensors gradients) {
    const Tensor both = t.empty(gradients[0].shape, gradients[0].dtype);
    t.stream(2 * traffic(both), both.dtype);
    return Tensors{both, both};
  });
}

/// A column of zeros before the scores [b, heads, q, k], rows of the same memory one shorter, and the first of them left out: each row
/// is moved by one more than the row before.
Tensor shifted(Tape& tape, const Tensor& scores) {
  const std::int64_t batch = scores.shape[0], heads = scores.shape[1], q = scores.shape[2], k = scores.shape[3];
  const Tensor zeros = tape.empty({batch, heads, q, 1}, scores.dtype);
  const Tensor padded = view(tape, concatenate(tape, {zeros, scores}, 3), {batch, heads, k + 1, q});
  return view(tape, narrow(tape, padded, 2, k), {batch, heads, q, k});
}

}  // namespace

Tensor distance_attention(Tape& tape, const Tensor& x, const Tensor& memory, const DistanceAttention& weights,
                          const DistanceContext& shared, const BlockContext& context) {
  const ModelSpec& spec = context.spec;
  const std::int64_t b = context.batch, q = x.shape[0], n = spec.heads, d = spec.head_dim, width = spec.attention_width();
  const Tensor read = memory ? concatenate(tape, {memory, x}, 0) : copied(tape, x);
  const std::int64_t k = read.shape[0];
  const Tensors heads = split(tape, dense_layer(tape, read, weights.qkv), {width, width, width});
  const Tensor distances = dense_layer(tape, shared.positions, weights.distances);
  const Tensor query = view(tape, narrow(tape, heads[0], 0, q), {q, b, n, d});
  // Sequences and heads lie side by side in the sums of queries and biases, but not in parts of a wider row, which are copied.
  const Tensor content = add(tape, query, shared.content_bias->use());
  const Tensor keys = view(tape, copied(tape, heads[1]), {b, n, d, k});
  const Tensor of_contents = matmul(tape, view(tape, content, {b, n, q, d}), keys);
  const Tensor distant = add(tape, query, shared.distance_bias->use());
  // One product a head, of the queries of all sequences.
  const Tensor rows = view(tape, copied(tape, distant), {n, b * q, d});
  Tensor of_distances = matmul(tape, rows, view(tape, distances, {n, d, k}));
  of_distances = shifted(tape, view(tape, of_distances, {b, n, q, k}));
  const Tensor scores = overwritten(tape, scaled_sum(tape, of_contents, of_distances));
  const Tensor shares = dropout(tape, softmax(tape, scores, tape.autocast() ? DType::kFp32 : scores.dtype), context.rules.attention_dropout);
  const Tensor values = view(tape, copied(tape, heads[2]), {b, n, k, d});
  const Tensor attended = view(tape, copied(tape, matmul(tape, shares, values)), {q, b, width});
  const Tensor added = dropout(tape, dense_layer(tape, attended, weights.projection), context.rules.dropout);
  return norm_layer(tape, add(tape, x, added), weights.norm, context);
}

}  // namespace plimsoll
