#include "sim/stack/operators/operator_programs.h"
#include "sim/stack/operators/sparsemax.h"
#include "sim/stack/tape/operations.h"

namespace plimsoll {
namespace {

// --- neighborhood attention: each token attends to a window of others, by way of all scores

struct Projections {
  Weights q, k, v, out;
};

/// An attention layer with biases.
struct Neighborhood {
  Parameter* x = nullptr;
  Projections layers;
  std::int64_t batch = 1;
  std::int64_t tokens = 1;
  std::int64_t heads = 1;
  std::int64_t width = 1;
};

Weights square(Tape& tape, std::int64_t width, DType dtype) {
  return {.weight = &tape.parameter("weight", {width, width}, dtype), .bias = &tape.parameter("bias", {width}, dtype)};
}

Neighborhood make_neighborhood(Tape& tape, const OperatorCase& asked) {
  const std::int64_t width = asked["hidden_size"];
  Neighborhood made{.x = &tape.parameter("x", {asked["batch_size"], asked["seq_len"], width}, asked.dtype),
                    .layers = {},
                    .batch = asked["batch_size"],
                    .tokens = asked["seq_len"],
                    .heads = asked["num_heads"],
                    .width = width};
  for (Weights* layer : {&made.layers.q, &made.layers.k, &made.layers.v, &made.layers.out})
    *layer = square(tape, width, asked.dtype);
  return made;
}

/// The layer of the other provider, from which this one's weights were copied.
Tensors other_layer(Tape& tape, const Neighborhood& made, DType dtype) {
  Tensors held;
  for (int i = 0; i < 4; ++i) {
    held.push_back(tape.empty({made.width, made.width}, dtype));
    held.push_back(tape.empty({made.width}, dtype));
  }
  return held;
}

Tensor as_heads(Tape& tape, const Neighborhood& n, const Tensor& x) {
  return transpose(tape, view(tape, x, {n.batch, n.tokens, n.heads, n.width / n.heads}), 1, 2);
}

Tensor as_rows(Tape& tape, const Neighborhood& n, const Tensor& x) {
  return view(tape, contiguous(tape, transpose(tape, x, 1, 2)), {n.batch, n.tokens, n.width});
}

/// What is outside a token's window is hidden by a mask of bytes that autograd keeps.
Tensor hidden_outside(Tape& tape, const Tensor& scores, const Tensor& mask) {
  return tape.record(tape.empty(scores.shape, scores.dtype), {&scores}, [mask](Tape& t, Tensors gradients) {
    return only(t.empty(gradients[0].shape, gradients[0].dtype));
  });
}

Tensor composed_scores(Tape& tape, const Neighborhood& n, const Tensor& q, const Tensor& k) {
  const Tensor mask = tape.empty({n.tokens, n.tokens}, kMaskType);
  return hidden_outside(tape, scale(tape, matmul(tape, q, transpose(tape, k, 2, 3))), mask);
}

OperatorTest neighborhood_test(Tape& tape, const OperatorCase& asked) {
  const Neighborhood n = make_neighborhood(tape, asked);
  return {.held = other_layer(tape, n, asked.dtype),
          .forward =
              [&tape, n, asked_dtype = asked.dtype] {
                const Tensor x = leaf(tape, *n.x);
                const Tensor q = as_heads(tape, n, linear(tape, x, n.layers.q));
                const Tensor k = as_heads(tape, n, linear(tape, x, n.layers.k));
                const Tensor v = as_heads(tape, n, linear(tape, x, n.layers.v));
                const Tensor shares = softmax(tape, composed_scores(tape, n, q, k), asked_dtype);
                return Tensors{linear(tape, as_rows(tape, n, matmul(tape, shares, v)), n.layers.out)};
              },
          .retains_graph = true};
}

/// Kernels over copies of q, k and v in order: scores, shares, result; backward: gradients of shares and scores, then
/// of the three.
Tensor kernel_neighborhood(Tape& tape, const Neighborhood& n, const Tensor& query, const Tensor& key,
                           const Tensor& value) {
  const Tensors saved{contiguous(tape, query).detached(), contiguous(tape, key).detached(),
                      contiguous(tape, value).detached()};
  const Shape square{n.batch, n.heads, n.tokens, n.tokens};
  const DType dtype = query.dtype;
  const Tensor scores = tape.empty(square, dtype);
  const Tensor shares = tape.empty(square, dtype);
  Tensor out = tape.empty(saved[0].shape, dtype);
  return tape.record(std::move(out), {&query, &key, &value}, [saved, shares](Tape& t, Tensors gradients) {
    const Tensor dy = contiguous(t, gradients[0]);
    Tensors results;
    for (const Tensor& input : saved) results.push_back(t.empty(input.shape, input.dtype));
    const Tensor of_shares = t.empty(shares.shape, shares.dtype);
    const Tensor of_scores = t.empty(shares.shape, shares.dtype);
    return results;
  });
}

OperatorTest kernel_neighborhood_test(Tape& tape, const OperatorCase& asked) {
  const Neighborhood n = make_neighborhood(tape, asked);
  return {.held = other_layer(tape, n, asked.dtype),
          .forward =
              [&tape, n] {
                const Tensor x = leaf(tape, *n.x);
                const Tensor q = as_heads(tape, n, linear(tape, x, n.layers.q));
                const Tensor k = as_heads(tape, n, linear(tape, x, n.layers.k));
                const Tensor v = as_heads(tape, n, linear(tape, x, n.layers.v));
                return Tensors{linear(tape, as_rows(tape, n, kernel_neighborhood(tape, n, q, k, v)), n.layers.out)};
              },
          .retains_graph = true};
}

// --- multi-token attention: causal shares [B, C, L, L], mixed by a convolution over queries, keys and heads

/// cuDNN's kernels work on copies of input and output with channels last, padded to eight.
Tensors padded_copies(Tape& tape, const Tensor& in, const Tensor& out) {
  Tensors copies;
  for (const Tensor* x : {&in, &out}) {
    Shape shape = x->shape;
    shape[1] = (shape[1] + 7) / 8 * 8;
    copies.push_back(tape.empty(shape, x->dtype));
  }
  return copies;
}

Tensor convolution(Tape& tape, const Tensor& x, const Weights& weights) {
  const Tensor weight = weights.weight->use();
  const Tensor bias = weights.bias->use();
  Shape shape = x.shape;
  shape[1] = weight.shape[0];
  Tensor out = tape.empty(shape, x.dtype);
  padded_copies(tape, x, out);
  return tape.record(
      std::move(out), {&x, &weight, &bias},
      [saved = x.detached(), of_weight = weight.shape, of_bias = bias.shape](Tape& t, Tensors gradients) {
        Tensor dx = t.empty(saved.shape, saved.dtype);
        padded_copies(t, saved, gradients[0]);
        return Tensors{dx, t.empty(of_weight, saved.dtype), t.empty(of_bias, saved.dtype)};
      });
}

using Shares = Tensor (*)(Tape& tape, const Tensor& scores);

Parameter& make_scores(Tape& tape, const OperatorCase& asked) {
  return tape.parameter("scores", {asked["B"], asked["C_in"], asked["L"], asked["L"]}, asked.dtype);
}

Weights make_filters(Tape& tape, const OperatorCase& asked) {
  const std::int64_t width = asked.size_or("K", 1);
  return {.weight = &tape.parameter(
              "filters", {asked["C_out"], asked["C_in"] / asked.size_or("groups", 1), width, width}, asked.dtype),
          .bias = &tape.parameter("filter bias", {asked["C_out"]}, asked.dtype)};
}

OperatorTest multi_token(Tape& tape, const OperatorCase& asked, Shares shares) {
  Parameter& scores = make_scores(tape, asked);
  return {.held = {},
          .forward =
              [&tape, &scores, shares, filters = make_filters(tape, asked), tokens = asked["L"]] {
                const Tensor mask = tape.empty({tokens, tokens}, kMaskType);
                const Tensor opposite = tape.empty({tokens, tokens}, kMaskType);
                const Tensor causal = hidden_outside(tape, leaf(tape, scores), mask);
                const Tensor mixed = convolution(tape, shares(tape, causal), filters);
                return Tensors{hidden_outside(tape, mixed, opposite)};
              },
          .retains_graph = true};
}

Tensor softmax_shares(Tape& tape, const Tensor& scores) { return softmax(tape, scores, scores.dtype); }

OperatorTest multi_token_test(Tape& tape, const OperatorCase& asked) {
  return multi_token(tape, asked, softmax_shares);
}
OperatorTest sparse_multi_token_test(Tape& tape, const OperatorCase& asked) {
  return multi_token(tape, asked, sparsemax);
}

/// Masks within kernels; keeps scores and shares.
OperatorTest kernel_multi_token_test(Tape& tape, const OperatorCase& asked) {
  Parameter& scores = make_scores(tape, asked);
  return {.held = {}, .forward = [&tape, &scores] {
            const Tensor x = leaf(tape, scores);
            const Tensor causal = tape.empty(x.shape, x.dtype);
            const Tensor shares = tape.empty(x.shape, x.dtype);
            Tensor out = tape.empty(x.shape, x.dtype);
            padded_copies(tape, shares, out);
            return Tensors{tape.record(std::move(out), {&x}, [causal, shares](Tape& t, Tensors gradients) {
              const Tensor of_mixed = t.empty(gradients[0].shape, gradients[0].dtype);
              const Tensor of_shares = t.empty(shares.shape, shares.dtype);
              padded_copies(t, shares, of_mixed);
              return only(t.empty(shares.shape, shares.dtype));
            })};
          }};
}

/// Shares by sorting, as PyTorch's operations do it; the rest within kernels that keep the shares alone.
OperatorTest kernel_sparse_test(Tape& tape, const OperatorCase& asked) {
  Parameter& scores = make_scores(tape, asked);
  return {.held = {}, .forward = [&tape, &scores, filters = make_filters(tape, asked)] {
            const Tensor x = leaf(tape, scores);
            const Tensor weight = filters.weight->use();
            const Tensor bias = filters.bias->use();
            Tensor shares;
            {
              const Tensor causal = tape.empty(x.shape, x.dtype);
              tape.without_grad([&] { shares = sparsemax(tape, causal); });
            }
            return Tensors{tape.record(tape.empty(x.shape, x.dtype), {&x, &weight, &bias},
                                       [shares, of_weight = weight.shape, of_bias = bias.shape](Tape& t, Tensors) {
                                         const Tensor of_shares = t.empty(shares.shape, shares.dtype);
                                         return Tensors{t.empty(shares.shape, shares.dtype),
                                                        t.empty(of_weight, shares.dtype),
                                                        t.empty(of_bias, shares.dtype)};
                                       })};
          }};
}

}  // namespace

OperatorPrograms attention_programs() {
  const std::vector<std::string_view> layer{"batch_size", "seq_len", "hidden_size", "num_heads"};
  const std::vector<std::string_view> scores{"B", "C_in", "C_out", "L"};
  return {{"fused_neighborhood_attention", "torch", layer, neighborhood_test},
          {"fused_neighborhood_attention", "liger", layer, kernel_neighborhood_test},
          {"multi_token_attention", "torch", scores, multi_token_test},
          {"multi_token_attention", "liger", scores, kernel_multi_token_test},
          {"sparse_multi_token_attention", "torch", scores, sparse_multi_token_test},
          {"sparse_multi_token_attention", "liger", scores, kernel_sparse_test}};
}

}  // namespace plimsoll
