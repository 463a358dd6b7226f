#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plimsoll {

/// A protobuf message as it is written: fields one behind the other, each with its number and wire type (protobuf.dev,
/// Encoding).
class ProtoMessage {
 public:
  ProtoMessage& varint(std::uint32_t field, std::uint64_t value) {
    append(std::uint64_t{field} << 3);
    append(value);
    return *this;
  }
  ProtoMessage& fixed64(std::uint32_t field, std::uint64_t value) {
    append(std::uint64_t{field} << 3 | 1);
    for (int byte = 0; byte < 8; ++byte) bytes_ += static_cast<char>(value >> 8 * byte & 0xff);
    return *this;
  }
  ProtoMessage& text(std::uint32_t field, std::string_view value) {
    append(std::uint64_t{field} << 3 | 2);
    append(value.size());
    bytes_ += value;
    return *this;
  }
  ProtoMessage& message(std::uint32_t field, const ProtoMessage& value) { return text(field, value.bytes_); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  /// Seven bits a byte, the lowest first.
  void append(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7f) | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

}  // namespace plimsoll
