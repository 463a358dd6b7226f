#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll {

/// Bytes of the UTF-8 character that begins with `first`; 1 for a byte that begins none.
constexpr std::size_t utf8_length(char first) {
  const auto byte = static_cast<unsigned char>(first);
  if (byte >= 0xF0) return 4;
  if (byte >= 0xE0) return 3;
  return byte >= 0xC0 ? 2 : 1;
}

/// Offset of the first byte that is not part of well-formed UTF-8 (RFC 3629: no surrogates, nothing overlong).
std::optional<std::size_t> first_invalid_utf8(std::string_view text);

/// The character that begins at `at` of well-formed text.
char32_t utf8_at(std::string_view text, std::size_t at);

void append_utf8(std::string& text, char32_t character);

/// `bytes` with U+FFFD for each maximal part that is no well-formed UTF-8 (the Unicode standard, section 3.9).
std::string to_valid_utf8(std::string_view bytes);

}  // namespace plimsoll
