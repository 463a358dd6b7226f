#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/quantity.h"
#include "core/base/result.h"

namespace plimsoll {

/// Element types that a safetensors file may name.
enum class StoredType : std::uint8_t {
  kBool, kU8, kI8, kF8E5M2, kF8E4M3, kF8E8M0, kI16, kU16, kF16, kBf16, kI32, kU32, kF32, kI64, kU64, kF64, kC64,
  kF4, kF6E2M3, kF6E3M2,
};

/// "F32", "BF16", … as the file writes it.
std::string_view to_text(StoredType type);
/// Bits of one element; four- and six-bit types are packed.
std::int64_t bits_of(StoredType type);

/// One tensor of a safetensors file.
struct SafetensorsTensor {
  std::string name;
  StoredType type = StoredType::kF32;
  std::vector<std::int64_t> shape;
  std::int64_t elements = 0;
  Bytes offset;  ///< from the start of the file
  Bytes bytes;
};

/// What stands at the head of a safetensors file, checked against the file's size.
struct SafetensorsHeader {
  std::vector<SafetensorsTensor> tensors;  ///< in the order of their data
  std::map<std::string, std::string> metadata;
  Bytes file_bytes;

  [[nodiscard]] const SafetensorsTensor* find(std::string_view name) const;
};

/// The format's own limit on the JSON at the head of a file.
inline constexpr Bytes kMaxSafetensorsHeader{100'000'000};

/// Checks the JSON `text` of a header (which stands at byte 8) of a file of `file_bytes`: types, shapes without overflow,
/// data without hole or overlap up to the end of the file. `where` names the file in errors.
Result<SafetensorsHeader> parse_safetensors_header(std::string_view text, Bytes file_bytes, std::string_view where);

/// Reads and checks the header of `path`: an 8-byte little-endian length, then JSON. Never reads tensor data.
Result<SafetensorsHeader> read_safetensors_header(const std::filesystem::path& path);

}  // namespace plimsoll
