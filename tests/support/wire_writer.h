#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll::test {

/// Protocol buffers by hand: fields one after another.
struct WireWriter {
  std::string bytes;

  WireWriter& number(int field, std::uint64_t value) {
    varint(static_cast<std::uint64_t>(field) << 3);
    return varint(value);
  }
  WireWriter& text(int field, const std::string& value) {
    varint((static_cast<std::uint64_t>(field) << 3) | 2);
    varint(value.size());
    bytes += value;
    return *this;
  }
  WireWriter& message(int field, const WireWriter& value) { return text(field, value.bytes); }
  WireWriter& packed(int field, const std::vector<std::uint64_t>& values) {
    WireWriter inner;
    for (const std::uint64_t value : values) inner.varint(value);
    return text(field, inner.bytes);
  }
  /// A message with its length before it.
  WireWriter& delimited(const WireWriter& value) {
    varint(value.bytes.size());
    bytes += value.bytes;
    return *this;
  }
  WireWriter& varint(std::uint64_t value) {
    for (; value > 127; value >>= 7) bytes.push_back(static_cast<char>(value | 128));
    bytes.push_back(static_cast<char>(value));
    return *this;
  }
};

}  // namespace plimsoll::test
