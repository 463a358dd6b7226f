#pragma once

#include <cstdint>

#include "core/base/quantity.h"
#include "core/base/result.h"
#include "core/model/dtype.h"

namespace plimsoll {

/// How numbers are kept: as compute reads them, or as codes of few bits in groups of 64, each with a scale and a least value
/// in fp16 (Sheng et al. 2023, FlexGen, section 5: 4 bits and groups of 64 of weights and of the cache).
struct GroupCode {
  std::int64_t bits = 0;  ///< 0: as compute reads them; 4 or 8
  std::int64_t group = 64;

  bool operator==(const GroupCode&) const = default;

  [[nodiscard]] bool exists() const { return bits > 0; }
  /// Bytes of so many numbers; `compute` is the type of those that are not coded. A last group that is not full counts whole.
  [[nodiscard]] Bytes bytes_of(std::int64_t numbers, DType compute) const;
};

/// 16 (or 32) bits: not coded; 4 or 8. Anything else is an error that names `option`.
Result<GroupCode> group_code_of_bits(std::int64_t bits, std::string_view option);

}  // namespace plimsoll
