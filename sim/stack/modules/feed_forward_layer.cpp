#include "sim/stack/modules/rank_tokens.h"
#include "sim/stack/modules/transformer_layers.h"
#include "sim/stack/modules/unsloth_layers.h"
#include "sim/stack/operators/fused_operations.h"

namespace plimsoll {
namespace {

Tensor activated(Tape& tape, const Tensor& x, const BlockContext& context) {
  if (context.spec.activation == ActivationKind::kRelu) return from_result(tape, x);
  if (context.spec.activation == ActivationKind::kSquaredRelu) return from_input(tape, from_result(tape, x));  // transformers' relu2
  const bool composite = context.rules.activation == ActivationCode::kNewGelu && !context.rules.fused_pointwise;
  return composite ? new_gelu(tape, x) : from_input(tape, x);
}

/// (up + 1) · gate · sigmoid(α gate), both bounded before, kernel by kernel (gpt-oss).
Tensor bounded_gate(Tape& tape, const Tensor& gate, const Tensor& up) {
  const Tensor low = from_input(tape, gate), other = from_input(tape, up);
  const Tensor glu = multiply(tape, low, from_result(tape, scale(tape, low)));
  return multiply(tape, shift(tape, other), glu);
}

/// activation(gate) · up. A fused one saves gate and up alone.
Tensor gated(Tape& tape, const Tensor& gate, const Tensor& up, const BlockContext& context) {
  if (context.rules.liger) return fused_gated_product(tape, gate, up);
  const bool bounded = context.spec.family == Family::kGptOss;
  if (bounded && !context.rules.fused_pointwise) return bounded_gate(tape, gate, up);
  if (!context.rules.fused_pointwise) return multiply(tape, from_input(tape, gate), up);
  Tensor out = tape.empty(gate.shape, gate.dtype);
  tape.stream(3 * traffic(out), out.dtype);
  return tape.record(std::move(out), {&gate, &up}, [g = gate.detached(), u = up.detached()](Tape& t, Tensors) {
    Tensors results;
    results.push_back(t.empty(g.shape, g.dtype));
    results.push_back(t.empty(u.shape, u.dtype));
    t.stream(5 * traffic(g), g.dtype);
    return results;
  });
}

/// Most codes write activation(gate(x)) · up(x) in one line: the activation is made, and the gate's name gone, before `up` is begun.
/// LitGPT and fused kernels have both halves first.
Tensor gated_halves(Tape& tape, Tensor x, const FeedForwardWeights& weights, const BlockContext& context) {
  const bool both_first = context.rules.names_halves || context.rules.liger || context.rules.fused_pointwise || context.spec.family == Family::kGptOss;
  Tensor gate = dense_layer(tape, x, weights.in[0]);
  if (both_first) {
    const Tensor up = dense_layer(tape, x, weights.in[1]);
    x = {};
    return gated(tape, gate, up, context);
  }
  const Tensor active = from_input(tape, std::exchange(gate, {}));
  return multiply(tape, active, dense_layer(tape, x, weights.in[1]));
}

}  // namespace

Tensor new_gelu(Tape& tape, const Tensor& x) {
  const Tensor inner = scale(tape, add(tape, x, scale(tape, power(tape, x))));
  const Tensor factor = shift(tape, from_result(tape, inner));
  return multiply(tape, scale(tape, x), factor);
}

Tensor feed_forward_layer(Tape& tape, const Tensor& own, const FeedForwardWeights& weights, const BlockContext& context) {
  Tensor x = all_tokens(tape, own, context.tensor_ranks, weights.out.fp8);
  Tensor inner;
  const bool unsloth = context.rules.unsloth && weights.in.size() == 2;
  if (unsloth && takes_adapters({&weights.in[0], &weights.in[1], &weights.out})) return adapted_feed_forward(tape, x, weights);
  if (!is_gated(context.spec.activation)) {
    inner = activated(tape, dense_layer(tape, x, weights.in.front()), context);
  } else if (weights.in.size() == 2) {
    inner = gated_halves(tape, tape.is_compiled() ? std::exchange(x, {}) : x, weights, context);
  } else {
    const std::int64_t width = weights.out.inputs;
    const Tensors halves = split(tape, dense_layer(tape, x, weights.in.front()), {width, width});
    inner = gated(tape, halves[0], halves[1], context);
  }
  inner = dense_layer(tape, std::exchange(inner, {}), weights.out);
  return dropout(tape, own_tokens(tape, std::exchange(inner, {}), context.tensor_ranks, weights.out.fp8), context.rules.dropout);
}

}  // namespace plimsoll
