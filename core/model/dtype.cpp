#include "core/model/dtype.h"

#include <array>
#include <utility>

namespace plimsoll {
namespace {

constexpr std::array<std::pair<DType, std::string_view>, 8> kNames{{{DType::kFp64, "fp64"},
                                                                    {DType::kFp32, "fp32"},
                                                                    {DType::kBf16, "bf16"},
                                                                    {DType::kFp16, "fp16"},
                                                                    {DType::kInt32, "int32"},
                                                                    {DType::kUint16, "uint16"},
                                                                    {DType::kUint8, "uint8"},
                                                                    {DType::kTf32, "tf32"}}};

}  // namespace

std::string_view to_text(DType type) {
  for (const auto& [known, name] : kNames) {
    if (known == type) return name;
  }
  return "?";
}

std::optional<DType> parse_dtype(std::string_view text) {
  for (const auto& [type, name] : kNames) {
    if (name == text) return type;
  }
  return std::nullopt;
}

}  // namespace plimsoll
