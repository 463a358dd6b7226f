#include "formats/tokenizers/utf8.h"

#include <catch2/catch.hpp>

#include "formats/tokenizers/byte_alphabet.h"

namespace plimsoll {

TEST_CASE("first_invalid_utf8 finds overlong forms, surrogates, what lies beyond U+10FFFF and what is cut off") {
  struct Case {
    std::string_view text;
    std::optional<std::size_t> wanted;
  };
  const std::vector<Case> cases{
      {"", std::nullopt},          {"a\u00e9\u4e2d\U0001F600", std::nullopt}, {"a\xC0\xAF", 1},
      {"\xE0\x80\xAF", 0},         {"ab\xED\xA0\x80", 2},                     {"\xF4\x90\x80\x80", 0},
      {"\xF4\x8F\xBF\xBF", std::nullopt}, {"abc\xE4\xB8", 3},                 {"\x80", 0},
      {"\xFF", 0},                 {"\xC3(", 0},
  };
  for (const Case& one : cases) {
    INFO(one.text);
    CHECK(first_invalid_utf8(one.text) == one.wanted);
  }
}

TEST_CASE("append_utf8 and utf8_at are inverse") {
  for (const char32_t c : {U'\0', U'a', U'\u007f', U'\u0080', U'\u07ff', U'\u0800', U'\uffff', U'\U00010000', U'\U0010ffff'}) {
    std::string text;
    append_utf8(text, c);
    CHECK(utf8_at(text, 0) == c);
    CHECK(utf8_length(text[0]) == text.size());
    CHECK_FALSE(first_invalid_utf8(text));
  }
}

TEST_CASE("to_valid_utf8 writes one replacement for each maximal part that is cut off") {
  // Table 3-8 of the Unicode standard: 61 | F1 80 80 | E1 80 | C2 | 62 | 80 | 63
  CHECK(to_valid_utf8("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63") == "a\uFFFD\uFFFD\uFFFDb\uFFFDc");
}

TEST_CASE("the byte alphabet writes every byte as one letter and reads it back") {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  const std::string text = to_byte_alphabet(all);
  CHECK_FALSE(first_invalid_utf8(text));
  CHECK(from_byte_alphabet(text) == all);
  CHECK(to_byte_alphabet(" a\n") == "\u0120a\u010A");  // GPT-2's Ġ and Ċ
  CHECK_FALSE(from_byte_alphabet("a b"));              // a space itself is no letter of it
}

}  // namespace plimsoll
