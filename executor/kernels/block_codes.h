#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "core/model/base_storage.h"

namespace plimsoll {

/// The 16 numbers of 4-bit NormalFloat: quantiles of N(0, 1) between −1 and 1 with 0 among them (Dettmers et al. 2023, section 3
/// and appendix E).
extern const std::array<float, 16> kNf4Values;

/// Encodes a matrix (kBf16, kInt8 or kNf4) into `place`, as long as bytes_in says. Blocks run over its elements in their order.
/// Of nf4 the first of two codes is in the upper half of a byte.
void encode(BaseStorage storage, std::span<const float> values, std::span<std::byte> place);

/// What elements [first, first + values.size()) of an encoded matrix of `elements` stand for. `first` is a multiple of 256.
void decode(BaseStorage storage, std::span<const std::byte> place, std::int64_t elements, std::int64_t first,
            std::span<float> values);
void decode(BaseStorage storage, std::span<const std::byte> place, std::int64_t elements, std::int64_t first,
            std::span<double> values);

}  // namespace plimsoll
