#include <algorithm>
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

bool is_plain(const DenseLayer& layer) { return !layer.encoded && !layer.fp8 && !layer.adapter.exists() && !layer.adapter.scales_input; }

bool are_plain(const std::vector<FeedForwardWeights>& experts) {
  return std::all_of(experts.begin(), experts.end(), [](const FeedForwardWeights& own) {
    return is_plain(own.out) && std::all_of(own.in.begin(), own.in.end(), is_plain);
  });
}

/// All experts' layers as one expert's, whose products are grouped.
FeedForwardWeights together(const std::vector<FeedForwardWeights>& experts) {
  const FeedForwardWeights& first = experts.front();
  FeedForwardWeights all;
  all.in.resize(first.in.size());
  const auto join = [](DenseLayer& joint, const DenseLayer& own) {
    joint.inputs = own.inputs;
    joint.outputs = own.outputs;
    joint.group.push_back(own);
  };
  for (const FeedForwardWeights& own : experts) {
    for (std::size_t i = 0; i < own.in.size(); ++i) join(all.in[i], own.in[i]);
    join(all.out, own.out);
  }
  return all;
}

/// Each token's rows, one of every expert that it chose, summed.
Tensor sum_of_choices(Tape& tape, const Tensor& rows, std::int64_t tokens) {
  Tensor out = tape.empty({tokens, rows.size(-1)}, rows.dtype);
  tape.stream(traffic(rows) + traffic(out), rows.dtype);
  return tape.record(std::move(out), {&rows}, [shape = rows.shape](Tape&, Tensors gradients) {
    Tensor spread = gradients[0].detached();  // a view
    spread.shape = shape;
    return only(std::move(spread));
  });
}

/// In grouped products: torchtitan multiplies by scores first and adds rows to those of the tokens; transformers 5 multiplies what
/// the experts gave, sorts it back, and sums a token's rows (integrations/moe.py).
Tensor grouped_mixture(Tape& tape, const Tensor& rows, const Tensor& gates, const MixtureWeights& weights, const BlockContext& context,
                       const ExpertPass& pass) {
  const std::int64_t tokens = rows.size(0), choices = tokens * context.spec.experts.per_token;
  const Tensor order = tape.empty({choices}, kIndexType);
  const Tensor scores = gather_rows(tape, view(tape, gates, {choices, 1}), choices);
  Tensor chosen = gather_rows(tape, rows, choices);
  const FeedForwardWeights all = together(weights.experts);
  if (context.rules.scores_first) {
    chosen = cast(tape, multiply(tape, cast(tape, std::exchange(chosen, {}), DType::kFp32), cast(tape, scores, DType::kFp32)), rows.dtype);
    return add_rows(tape, tape.empty(rows.shape, rows.dtype), pass(std::exchange(chosen, {}), all));
  }
  const Tensor weighted = multiply(tape, pass(std::exchange(chosen, {}), all), scores);
  return sum_of_choices(tape, gather_rows(tape, weighted, choices), tokens);
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
  const bool grouped = context.rules.grouped_experts && are_plain(weights.experts);
  const Tensor choices = grouped ? Tensor{} : tape.empty({experts.count, experts.per_token, tokens}, kIndexType);  // one-hot
  // Llama 4's experts read all tokens, most of them multiplied by 0.
  const bool all = context.spec.family == Family::kLlama4;
  const std::int64_t share = all ? tokens : (tokens * experts.per_token + experts.count - 1) / experts.count;
  Tensor sum = grouped ? grouped_mixture(tape, rows, gates, weights, context, pass) : tape.empty(rows.shape, rows.dtype);
  if (!grouped) {
    for (const FeedForwardWeights& own : weights.experts) {
      const Tensor out = pass(gather_rows(tape, rows, share), own);
      const Tensor factors = gather_rows(tape, view(tape, gates, {tokens * experts.per_token, 1}), share);
      sum = add_rows(tape, sum, cast(tape, multiply(tape, out, factors), sum.dtype));
    }
  }
  if (experts.shared_width > 0) sum = add(tape, sum, shared_expert(tape, rows, weights, context, pass));
  return view(tape, sum, x.shape);
}

}  // namespace plimsoll
