#include "formats/tokenizers/utf8.h"

namespace plimsoll {
namespace {

/// How far a well-formed character reaches at some place: `length` of `wanted` bytes are as they should be.
struct Reach {
  std::size_t length = 0;
  std::size_t wanted = 1;
};

struct Bounds {
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
};

/// The second byte's range, which keeps out overlong forms, surrogates and what lies beyond U+10FFFF (RFC 3629, section 4).
Bounds second_byte(unsigned char first) {
  switch (first) {
    case 0xE0: return {0xA0, 0xBF};
    case 0xED: return {0x80, 0x9F};
    case 0xF0: return {0x90, 0xBF};
    case 0xF4: return {0x80, 0x8F};
    default: return {};
  }
}

Reach reach_at(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) return {1, 1};
  if (first < 0xC2 || first > 0xF4) return {0, 1};
  Reach reach{.length = 1, .wanted = utf8_length(text[at])};
  Bounds bounds = second_byte(first);
  while (reach.length < reach.wanted && at + reach.length < text.size()) {
    const auto next = static_cast<unsigned char>(text[at + reach.length]);
    if (next < bounds.low || next > bounds.high) break;
    ++reach.length;
    bounds = {};
  }
  return reach;
}

}  // namespace

std::optional<std::size_t> first_invalid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Reach reach = reach_at(text, at);
    if (reach.length < reach.wanted) return at;
    at += reach.length;
  }
  return std::nullopt;
}

char32_t utf8_at(std::string_view text, std::size_t at) {
  const std::size_t length = utf8_length(text[at]);
  const auto first = static_cast<unsigned char>(text[at]);
  if (length == 1) return first;
  auto character = static_cast<char32_t>(first & (0x7F >> length));
  for (std::size_t i = 1; i < length; ++i) {
    character = (character << 6) | (static_cast<unsigned char>(text[at + i]) & 0x3F);
  }
  return character;
}

void append_utf8(std::string& text, char32_t c) {
  const auto tail = [&](int shift) { text += static_cast<char>(0x80 | ((c >> shift) & 0x3F)); };
  if (c < 0x80) {
    text += static_cast<char>(c);
  } else if (c < 0x800) {
    text += static_cast<char>(0xC0 | (c >> 6));
    tail(0);
  } else if (c < 0x10000) {
    text += static_cast<char>(0xE0 | (c >> 12));
    tail(6), tail(0);
  } else {
    text += static_cast<char>(0xF0 | (c >> 18));
    tail(12), tail(6), tail(0);
  }
}

std::string to_valid_utf8(std::string_view bytes) {
  std::string valid;
  valid.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    const Reach reach = reach_at(bytes, at);
    if (reach.length == reach.wanted) {
      valid += bytes.substr(at, reach.length);
    } else {
      valid += "\xEF\xBF\xBD";
    }
    at += reach.length == 0 ? 1 : reach.length;
  }
  return valid;
}

}  // namespace plimsoll
