#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/quantity.h"
#include "core/model/dtype.h"

namespace plimsoll {

/// In what the matrices of a frozen model's blocks are kept. All but the first are decoded one by one before a product.
enum class BaseStorage : std::uint8_t {
  kCompute,  ///< as compute reads them
  kBf16,     ///< rounded to 16 bits
  kInt8,     ///< codes of 8 bits, an fp32 factor for each block of 256
  kNf4,      ///< codes of 4 bits, an 8-bit scale for each block of 64, an fp32 factor for each 256 scales (Dettmers et al. 2023)
};

inline constexpr std::int64_t kInt8Block = 256;
inline constexpr std::int64_t kNf4Block = 64;
inline constexpr std::int64_t kNf4Scales = 256;

/// Where the parts of an encoded matrix of so many elements begin, in bytes; those that a storage has not are empty.
struct BlockLayout {
  std::int64_t blocks = 0;
  std::int64_t mean = 0;     ///< nf4: an fp32 number that every scale is more than
  std::int64_t factors = 0;  ///< fp32
  std::int64_t scales = 0;   ///< nf4: one byte a block
  std::int64_t codes = 0;
  std::int64_t bytes = 0;    ///< of all
};

BlockLayout block_layout(BaseStorage storage, std::int64_t elements);

/// Bytes of `elements` in that storage; `compute` is the type that kCompute means.
Bytes bytes_in(BaseStorage storage, std::int64_t elements, DType compute);

/// "compute", "bf16", "int8", "nf4".
std::string_view to_text(BaseStorage storage);

}  // namespace plimsoll
