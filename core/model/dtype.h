#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace plimsoll {

/// Element type of a tensor. kTf32 is a kernel's alone: fp32 operands that matrix units read with 10 bits of mantissa.
enum class DType : std::uint8_t { kFp64, kFp32, kBf16, kFp16, kInt32, kUint16, kUint8, kTf32 };

/// Bytes of one element.
constexpr std::int64_t size_of(DType type) {
  switch (type) {
    case DType::kFp64: return 8;
    case DType::kFp32:
    case DType::kTf32:
    case DType::kInt32: return 4;
    case DType::kBf16:
    case DType::kFp16:
    case DType::kUint16: return 2;
    case DType::kUint8: return 1;
  }
  return 0;
}

/// "fp32", "bf16", ... as written in plans and options.
std::string_view to_text(DType type);

/// The type that `to_text` writes so.
std::optional<DType> parse_dtype(std::string_view text);

}  // namespace plimsoll
