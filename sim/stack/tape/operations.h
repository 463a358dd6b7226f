#pragma once

#include <cstdint>
#include <functional>

#include "sim/stack/tape/tape.h"

namespace plimsoll {

// PyTorch's operations as they behave on CUDA: what they allocate, save for backward, and launch (research on each: the
// derivative formulas that PyTorch publishes in tools/autograd/derivatives.yaml, autocast's operator lists).

// --- views and copies
Tensor view(Tape& tape, const Tensor& x, Shape shape);
/// Two inner dimensions change places: the memory stays as it is.
Tensor transpose(Tape& tape, const Tensor& x, std::size_t first, std::size_t second);
/// A copy unless the memory is already in order.
Tensor contiguous(Tape& tape, const Tensor& x);
/// Views of parts of the last dimension; their gradients are put together again.
Tensors split(Tape& tape, const Tensor& x, const std::vector<std::int64_t>& widths);
/// Views of equal parts of the first dimension (the last may be smaller); their gradients are put together again.
Tensors split_rows(Tape& tape, const Tensor& x, std::int64_t parts);
/// A view of the first `count` of a dimension; its gradient is as large as x again.
Tensor narrow(Tape& tape, const Tensor& x, std::size_t dimension, std::int64_t count);
Tensor concatenate(Tape& tape, const Tensors& parts, std::size_t dimension);
/// The same values in another type; x itself where it has it already.
Tensor cast(Tape& tape, const Tensor& x, DType dtype);
/// The same values in fp32 inside an autocast region, as its list of fp32 operators asks; x itself elsewhere.
Tensor in_fp32(Tape& tape, const Tensor& x);
/// Heads repeated so that every query head has a key head of its own (grouped-query attention).
Tensor repeat_heads(Tape& tape, const Tensor& x, std::int64_t times);
/// One head as if there were as many (a stride of nothing): the same memory; the gradient has all of them, and is summed.
Tensor expand_head(Tape& tape, const Tensor& x, std::int64_t times);

/// So many rows of x, by their places: saves the places; the gradient is as large as x again.
Tensor gather_rows(Tape& tape, const Tensor& x, std::int64_t rows);
/// Adds rows to those of `sum` in place, by their places.
Tensor add_rows(Tape& tape, const Tensor& sum, const Tensor& rows);

// --- elementwise
/// Broadcasts; the result has the wider type. Saves nothing.
Tensor add(Tape& tape, const Tensor& a, const Tensor& b);
/// Saves each factor whose partner needs a gradient.
Tensor multiply(Tape& tape, const Tensor& a, const Tensor& b);
/// By a number. Saves nothing.
Tensor scale(Tape& tape, const Tensor& x);
/// Plus a number: nothing but an output.
Tensor shift(Tape& tape, const Tensor& x);
/// A function that saves its input (GELU, SiLU, a square).
Tensor from_input(Tape& tape, const Tensor& x);
/// A function that saves its result (tanh, exp, a reciprocal root, ReLU).
Tensor from_result(Tape& tape, const Tensor& x);
/// x to a whole power, in fp32 under autocast (pow is on its fp32 list): saves what it raised; backward makes two copies on its way.
Tensor power(Tape& tape, const Tensor& base);
/// Over the last dimension, which stays with size 1.
Tensor mean_of_rows(Tape& tape, const Tensor& x);
Tensor dropout(Tape& tape, const Tensor& x, double share);
/// Overwrites what a constant mask hides (masked_fill): an output, and in backward the gradient with the same places overwritten
/// (PyTorch's derivative formula of masked_fill); nothing saved.
Tensor masked(Tape& tape, const Tensor& x);
/// `result` type fp32 under autocast; saves the result.
Tensor softmax(Tape& tape, const Tensor& x, DType result);
/// Its logarithm, whose backward pass multiplies nothing first.
Tensor log_softmax(Tape& tape, const Tensor& x);

// --- products
struct Weights {
  Parameter* weight = nullptr;
  Parameter* bias = nullptr;  ///< may be nothing
  bool fp8 = false;           ///< its products are in 8 bits
};
/// x [.., inputs] with weight [outputs, inputs], under autocast in its type.
Tensor linear(Tape& tape, const Tensor& x, const Weights& weights);
/// The same of any matrix, a part of a parameter for instance; no bias where there is nothing.
Tensor linear(Tape& tape, const Tensor& x, const Tensor& weight, const Tensor& bias);
/// Rows [rows, inputs] sorted by group, an equal share of them to each group's weight, in one kernel (torch._grouped_mm); biases are
/// looked up row by row and added in place.
Tensor grouped_linear(Tape& tape, const Tensor& x, const std::vector<Weights>& groups);
/// Batches of matrices a [.., m, k], b [.., k, n]; what is not in order is copied first, and the copy is saved.
Tensor matmul(Tape& tape, const Tensor& a, const Tensor& b);

// --- layers
/// Fused; in fp32 under autocast.
Tensor layer_norm(Tape& tape, const Tensor& x, const Weights& weights);
/// Fused, in the type of x: saves x and a reciprocal root a row.
Tensor fused_rms_norm(Tape& tape, const Tensor& x, Parameter& weight);
Tensor embedding(Tape& tape, const Tensor& indices, Parameter& table);
struct AttentionCall {
  std::int64_t heads = 1;
  std::int64_t sequence = 1;
  std::int64_t keys = 1;
  std::int64_t head_dim = 1;
  bool causal = true;
  std::int64_t window = 0;  ///< keys that a query sees at most; 0: all before it
  bool flash = true;        ///< else memory-efficient, as always where there is a mask
  Tensor mask;              ///< [b, 1, s, s'] of truth values: scores are computed whole, and a sum to them is made of it and saved
  double dropout = 0;
  double document = 0;  ///< tokens of the documents that a sequence packs, with each of which attention ends; 0: it is one
};
/// q [b, heads, s, d], k and v [b, kv heads, s', d]: saves all three, the result, and a sum of exponentials a row.
Tensor fused_attention(Tape& tape, const Tensor& q, const Tensor& k, const Tensor& v, const AttentionCall& call);
/// Mean negative log-likelihood of rows; logits as fp32. Saves log-probabilities.
Tensor cross_entropy(Tape& tape, const Tensor& logits);
/// In one kernel: saves the logits and a sum a row, and writes the gradient over the logits (FlashAttention's loss).
Tensor fused_cross_entropy(Tape& tape, const Tensor& logits);
/// One kernel each way, as torch.compile writes a loss: nothing is kept in fp32, and the gradient has a place of its own. Where the
/// compiled model returns the logits as well, autograd hands its backward pass zeros of their size for them, which are added.
Tensor compiled_cross_entropy(Tape& tape, const Tensor& logits, bool returned = false);

// --- checkpoints
/// Runs `segment` without saving anything but x, and once more when its gradient is asked for (Chen et al. 2016). With
/// `to_host` x waits in host memory in between.
Tensor checkpoint(Tape& tape, const Tensor& x, const std::function<Tensor(const Tensor&)>& segment, bool to_host = false);
/// The same of a segment that reads several tensors.
Tensor checkpoint(Tape& tape, const Tensors& inputs, const std::function<Tensor(const Tensors&)>& segment);
/// The same, with the results of every other product and of fused attention kept (torchtitan's default per operator).
Tensor selective_checkpoint(Tape& tape, const Tensor& x, const std::function<Tensor(const Tensor&)>& segment, bool to_host = false);

}  // namespace plimsoll
