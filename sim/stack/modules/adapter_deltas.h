#pragma once

#include <cstdint>
#include <utility>

#include "sim/stack/modules/dense_layer.h"

namespace plimsoll {

/// B A in full [outputs, inputs]: PEFT's DoRA runs both layers on a unit matrix, for FSDP's sake.
Tensor low_rank_delta(Tape& tape, const DenseLayer& layer);
/// A length of every row of weight + delta, which no gradient passes.
Tensor row_lengths(Tape& tape, const Tensor& weight, const Tensor& delta);
/// (B1 A1) ∘ (B2 A2): nothing but the four matrices is kept, and backward makes both products again.
Tensor hadamard_delta(Tape& tape, const DenseLayer& layer);
/// The Kronecker product of LoKr's factors, then its multiple.
Tensor kronecker_delta(Tape& tape, const DenseLayer& layer);

/// Of `size` the divisor next below its root, and what it leaves: how LoKr cuts a side in two.
std::pair<std::int64_t, std::int64_t> near_root_factors(std::int64_t size);

}  // namespace plimsoll
