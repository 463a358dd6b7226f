#include <utility>

#include "sim/stack/modules/transformer_layers.h"

namespace plimsoll {
namespace {

/// What every token passes through, weighted by a sigmoid of its own where there is one.
Tensor shared_expert(Tape& tape, const Tensor& rows, const MixtureWeights& weights, const BlockContext& context,
                     const ExpertPass& pass) {
  const Tensor out = pass(rows, weights.shared);
  if (!context.spec.experts.shared_gate) return out;
  return multiply(tape, from_result(tape, dense_layer(tape, rows, weights.shared_gate)), out);
}

}  // namespace

Tensor expert_layer(Tape& tape, const Tensor& x, const MixtureWeights& weights, const BlockContext& context,
                    const ExpertPass& pass) {
  const ExpertSpec& experts = context.spec.experts;
  const std::int64_t tokens = x.elements() / context.spec.hidden;
  const Tensor rows = view(tape, x, {tokens, context.spec.hidden});
  const Tensor logits = dense_layer(tape, rows, weights.router);
  const Tensor probabilities = experts.sigmoid_scores ? from_result(tape, cast(tape, logits, DType::kFp32))
                                                      : softmax(tape, logits, DType::kFp32);
  const Tensor gates = cast(tape, narrow(tape, probabilities, 1, experts.per_token), rows.dtype);
  const Tensor choices = tape.empty({experts.count, experts.per_token, tokens}, kIndexType);  // one-hot
  // Llama 4's experts read all tokens, most of them multiplied by 0.
  const bool all = context.spec.family == Family::kLlama4;
  const std::int64_t share = all ? tokens : (tokens * experts.per_token + experts.count - 1) / experts.count;
  Tensor sum = tape.empty(rows.shape, rows.dtype);
  for (const FeedForwardWeights& own : weights.experts) {
    const Tensor out = pass(gather_rows(tape, rows, share), own);
    const Tensor factors = gather_rows(tape, view(tape, gates, {tokens * experts.per_token, 1}), share);
    sum = add_rows(tape, sum, cast(tape, multiply(tape, out, factors), sum.dtype));
  }
  if (experts.shared_width > 0) sum = add(tape, sum, shared_expert(tape, rows, weights, context, pass));
  return view(tape, sum, x.shape);
}

}  // namespace plimsoll
