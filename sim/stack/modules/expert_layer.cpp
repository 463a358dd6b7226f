#include <utility>

#include "sim/stack/modules/transformer_layers.h"

namespace plimsoll {

Tensor expert_layer(Tape& tape, const Tensor& x, const BlockWeights& weights, const BlockContext& context) {
  const ExpertSpec& experts = context.spec.experts;
  const std::int64_t tokens = x.elements() / context.spec.hidden;
  const Tensor rows = view(tape, x, {tokens, context.spec.hidden});
  const Tensor probabilities = softmax(tape, dense_layer(tape, rows, weights.router), DType::kFp32);
  const Tensor gates = cast(tape, narrow(tape, probabilities, 1, experts.per_token), rows.dtype);
  const Tensor choices = tape.empty({experts.count, experts.per_token, tokens}, kIndexType);  // one-hot
  const std::int64_t share = (tokens * experts.per_token + experts.count - 1) / experts.count;
  Tensor sum = tape.empty(rows.shape, rows.dtype);
  for (const FeedForwardWeights& own : weights.experts) {
    const Tensor out = feed_forward_layer(tape, gather_rows(tape, rows, share), own, context);
    const Tensor factors = gather_rows(tape, view(tape, gates, {tokens * experts.per_token, 1}), share);
    sum = add_rows(tape, sum, cast(tape, multiply(tape, out, factors), sum.dtype));
  }
  return view(tape, sum, x.shape);
}

}  // namespace plimsoll
