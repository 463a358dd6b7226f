#include "formats/tokenizers/byte_alphabet.h"

#include <array>

#include "formats/tokenizers/utf8.h"

namespace plimsoll {
namespace {

constexpr bool stands_for_itself(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
}

constexpr std::array<char32_t, 256> make_alphabet() {
  std::array<char32_t, 256> letters{};
  char32_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    letters[static_cast<std::size_t>(byte)] = stands_for_itself(byte) ? static_cast<char32_t>(byte) : next++;
  }
  return letters;
}

constexpr char32_t kLetters = 0x100 + 68;
constexpr std::array<char32_t, 256> kAlphabet = make_alphabet();

constexpr std::array<int, kLetters> make_bytes() {
  std::array<int, kLetters> bytes{};
  for (int& byte : bytes) byte = -1;
  for (int byte = 0; byte < 256; ++byte) bytes[kAlphabet[static_cast<std::size_t>(byte)]] = byte;
  return bytes;
}

constexpr std::array<int, kLetters> kBytes = make_bytes();

}  // namespace

std::string to_byte_alphabet(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char byte : bytes) append_utf8(text, kAlphabet[static_cast<unsigned char>(byte)]);
  return text;
}

std::optional<std::string> from_byte_alphabet(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); at += utf8_length(text[at])) {
    const char32_t letter = utf8_at(text, at);
    if (letter >= kLetters || kBytes[letter] < 0) return std::nullopt;
    bytes += static_cast<char>(kBytes[letter]);
  }
  return bytes;
}

}  // namespace plimsoll
