#pragma once

#include <cstdint>

#include "sim/stack/tape/operations.h"

namespace plimsoll {

// What ranks that share layers do to the stream between them, of which each has its own tokens [b, s ÷ ranks, ..]: PyTorch's DTensor,
// as torch.distributed.tensor.parallel's column-wise, row-wise and sequence styles redistribute it. A collective goes along the
// outermost dimension; where that is the batch, tokens are copied into order. Kernels wait for all of it.

/// The tokens of all ranks; their gradients are summed, each rank keeping its own. With `fp8` they are cast and travel in 8 bits, and so
/// they come (torchao).
Tensor all_tokens(Tape& tape, const Tensor& own, std::int64_t ranks, bool fp8 = false);

/// A rank's own tokens of the sum of what all ranks have; its gradient comes of all tokens, with `fp8` cast before in 8 bits.
Tensor own_tokens(Tape& tape, Tensor parts, std::int64_t ranks, bool fp8 = false);

/// Mean negative log-likelihood of logits [.., words ÷ ranks] in fp32, of which ranks exchange a maximum, a sum and a target's logit a row
/// (torch.distributed.tensor.parallel.loss_parallel): kernel by kernel, both ways; log-probabilities are saved.
Tensor divided_cross_entropy(Tape& tape, const Tensor& logits, std::int64_t ranks);
/// The same as torch.compile writes it, of logits as products make them (read in what inductor of PyTorch 2.15 generates): a pass before
/// each exchange; the loss's pass makes the gradient but for its factor, in fp32 beside targets in fp32, and keeps that alone.
Tensor compiled_divided_cross_entropy(Tape& tape, const Tensor& logits, std::int64_t ranks);

}  // namespace plimsoll
