#pragma once

#include "sim/stack/tape/operations.h"

namespace plimsoll {

/// A matrix in 8 bits as products read it. Units of Ada and Hopper want both operands along the inner dimension, so that what a
/// backward pass multiplies is there once more, transposed; later ones read either way, and both names mean one copy.
struct Fp8Copies {
  Tensor rows;     ///< as it lies
  Tensor columns;  ///< transposed
};

/// Which of the two somebody will read.
struct Fp8Uses {
  bool rows = false;
  bool columns = false;
};

/// x in 8 bits: a pass that reads it and writes what is asked for, and before it one that looks for the largest value where
/// scales are of the present.
Fp8Copies to_fp8(Tape& tape, const Tensor& x, Fp8Uses uses);
/// What lies by rows in 8 bits, transposed where units want that.
Tensor fp8_columns(Tape& tape, const Tensor& rows);
/// A trained weight in 8 bits over all micro-batches of a step: cast by its first use, into memory that stays.
Fp8Copies cached_fp8(Tape& tape, Parameter& weight);
/// [rows, inner] · [inner, columns] of 8-bit operands with a result in `result`.
void fp8_product(Tape& tape, std::int64_t rows, std::int64_t columns, std::int64_t inner, DType result);

/// A linear layer whose three products are in 8 bits. Transformer Engine keeps the transposed 8-bit input and weight for
/// backward; torchao (`keeps_wide`) keeps both in two bytes and casts them again, or keeps what tensor ranks gathered in 8 bits: an
/// input, or a result's gradient, that comes so is not cast.
Tensor fp8_linear(Tape& tape, const Tensor& x, const Weights& weights);

}  // namespace plimsoll
