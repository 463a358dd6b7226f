#pragma once

#include "sim/stack/tape/tape.h"

namespace plimsoll {

/// As many rows that logits of a chunk take no more than the hidden states of all: a power of two.
std::int64_t loss_chunk_rows(std::int64_t rows, std::int64_t vocabulary, std::int64_t hidden);

/// Head and cross-entropy at once (Liger's fused linear cross-entropy): logits are there a chunk of rows at a time, and their
/// gradient in their place. All gradients are there when the forward pass ends: the input's, and the head's where it is trained;
/// backward multiplies both in place and hands them out. Under autocast the head is cast anew for every chunk's logits.
/// `adds_products`: the library adds two-byte products into the head's gradient (compute capability 8.0); otherwise each chunk's
/// lies beside it, and once more in fp32.
Tensor fused_linear_cross_entropy(Tape& tape, const Tensor& x, Parameter& head, bool adds_products);

/// As many rows that 8 bytes a logit come to 2 GiB, and an eighth of all if that is fewer, but 512 (unsloth_zoo's chunked loss).
std::int64_t recomputed_chunk_rows(std::int64_t rows, std::int64_t vocabulary);

/// Frozen head and cross-entropy in chunks whose logits are made twice: keeps x and two numbers a row; in backward a chunk's logits
/// and their gradient lie beside one another.
Tensor recomputed_linear_cross_entropy(Tape& tape, const Tensor& x, Parameter& head);

}  // namespace plimsoll
