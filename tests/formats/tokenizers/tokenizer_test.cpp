#include "formats/tokenizers/tokenizer.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "formats/tokenizers/merge_symbols.h"

namespace plimsoll {
namespace {

/// a b c ab bc abc d and what is added to it.
std::string tiny(const std::string& rest, const std::string& model_rest = "") {
  return R"({"model":{"type":"BPE","vocab":{"a":0,"b":1,"c":2,"ab":3,"bc":4,"abc":5,"d":6,"?":7},)"
         R"("merges":["b c","a b",["a","bc"]])" + model_rest + "}" + rest + "}";
}

std::vector<TokenId> tokens_of(const std::string& json, std::string_view text, EncodeOptions options = {}) {
  const auto tokenizer = Tokenizer::parse(json, "tokenizer.json");
  if (!tokenizer) FAIL(tokenizer.error().text());
  return tokenizer->encode(text, options).value();
}

std::string error_of(const std::string& json) {
  const auto tokenizer = Tokenizer::parse(json, "tokenizer.json");
  return tokenizer ? "none" : tokenizer.error().text();
}

using Tokens = std::vector<TokenId>;

}  // namespace

TEST_CASE("the pair that was learned first is joined first, the leftmost of several") {
  // abcab: "b c" (rank 0) → a bc a b; "a b" (1) → a bc ab; "a bc" (2) → abc ab
  CHECK(tokens_of(tiny(""), "abcab") == Tokens{5, 3});
  // abab: "a b" twice; nothing joins ab and ab
  CHECK(tokens_of(tiny(""), "abab") == Tokens{3, 3});
}

TEST_CASE("of equal pairs in a row the leftmost are joined") {
  PairTable merges(1);
  merges.insert(0, 0, {.rank = 0, .joined = 9});
  Tokens symbols{0, 0, 0, 0, 0};
  merge_symbols(merges, symbols);
  CHECK(symbols == Tokens{9, 9, 0});
}

TEST_CASE("a character that the vocabulary lacks is left out, or becomes the unknown token, once for a run if so asked") {
  CHECK(tokens_of(tiny(""), "axxc") == Tokens{0, 2});
  CHECK(tokens_of(tiny(""), "axxb") == Tokens{3});  // a and b are neighbours then
  CHECK(tokens_of(tiny("", R"(,"unk_token":"?")"), "axxb") == Tokens{0, 7, 7, 1});
  CHECK(tokens_of(tiny("", R"(,"unk_token":"?","fuse_unk":true)"), "axxb") == Tokens{0, 7, 1});
}

TEST_CASE("ignore_merges takes a piece that is a token as that token") {
  const std::string split = R"(,"pre_tokenizer":{"type":"Split","pattern":{"String":"ab"},"behavior":"Isolated"})";
  CHECK(tokens_of(tiny(split, R"(,"ignore_merges":true)"), "dab") == Tokens{6, 3});
}

TEST_CASE("an added token is found before words, the longest of several, and takes white space along if so asked") {
  const std::string added = R"(,"added_tokens":[{"id":8,"content":"<s>","special":true,"normalized":false},)"
                            R"({"id":9,"content":"<s>x","special":false,"normalized":false},)"
                            R"({"id":10,"content":"dd","lstrip":true,"rstrip":true,"normalized":false}])";
  CHECK(tokens_of(tiny(added), "a<s>b") == Tokens{0, 8, 1});
  CHECK(tokens_of(tiny(added), "a<s>xb") == Tokens{0, 9, 1});
  CHECK(tokens_of(tiny(added, R"(,"unk_token":"?")"), "a  dd\n b") == Tokens{0, 10, 1});
  // Not looked for, "<s>" is three characters that the vocabulary lacks.
  CHECK(tokens_of(tiny(added), "a<s>c", {.find_special = false}) == Tokens{0, 2});
  CHECK(tokens_of(tiny(added), "a<s>xb", {.find_special = false}) == Tokens{0, 9, 1});
}

TEST_CASE("a single word is not found within another") {
  const std::string added = R"(,"added_tokens":[{"id":8,"content":"dd","single_word":true,"normalized":false}])";
  CHECK(tokens_of(tiny(added), "dd") == Tokens{8});
  CHECK(tokens_of(tiny(added), "add") == Tokens{0, 6, 6});
  CHECK(tokens_of(tiny(added), "dd,dd") == Tokens{8, 8});
}

TEST_CASE("a split rule says what becomes of a match") {
  const auto split = [](const char* rule, const char* invert) {
    return tiny(fmt::format(R"(,"pre_tokenizer":{{"type":"Split","pattern":{{"Regex":"b"}},"behavior":"{}","invert":{}}})", rule, invert));
  };
  CHECK(tokens_of(split("Isolated", "false"), "abc") == Tokens{0, 1, 2});
  CHECK(tokens_of(split("Removed", "false"), "abc") == Tokens{0, 2});
  CHECK(tokens_of(split("Removed", "true"), "abc") == Tokens{1});
  CHECK(tokens_of(split("MergedWithPrevious", "false"), "abc") == Tokens{3, 2});
  CHECK(tokens_of(split("MergedWithNext", "false"), "abc") == Tokens{0, 4});
  CHECK(tokens_of(split("Contiguous", "false"), "abbc") == Tokens{0, 1, 1, 2});
}

TEST_CASE("a kind that is not known is refused by name") {
  CHECK_THAT(error_of(R"({"model":{"type":"Unigram","vocab":[]}})"), Catch::Contains("\"Unigram\" is not known"));
  CHECK_THAT(error_of(R"({"model":{"type":"WordPiece","vocab":{}}})"), Catch::Contains("\"WordPiece\" is not known"));
  CHECK_THAT(error_of(tiny(R"(,"normalizer":{"type":"Precompiled"})")), Catch::Contains("found \"Precompiled\""));
  CHECK_THAT(error_of(tiny(R"(,"pre_tokenizer":{"type":"BertPreTokenizer"})")), Catch::Contains("found \"BertPreTokenizer\""));
  CHECK_THAT(error_of(tiny(R"(,"decoder":{"type":"CTC"})")), Catch::Contains("found \"CTC\""));
  CHECK_THAT(error_of(tiny(R"(,"post_processor":{"type":"Odd"})")), Catch::Contains("found \"Odd\""));
  CHECK_THAT(error_of(R"({"architectures":["GPT2"]})"), Catch::Contains("the key \"model\" is missing"));
}

TEST_CASE("a broken table is refused with its key") {
  CHECK_THAT(error_of(R"({"model":{"type":"BPE","vocab":{"a":0},"merges":["a b"]}})"),
             Catch::Contains("/model/merges/0: the token \"b\" is not in the vocabulary"));
  CHECK_THAT(error_of(R"({"model":{"type":"BPE","vocab":{"a":0},"merges":["a"]}})"), Catch::Contains("expected two tokens"));
  CHECK_THAT(error_of(R"({"model":{"type":"BPE","vocab":{"a":0,"b":0},"merges":[]}})"), Catch::Contains("two tokens of the id 0"));
  CHECK_THAT(error_of(R"({"model":{"type":"BPE","vocab":{"a":-1},"merges":[]}})"), Catch::Contains("no usable id"));
  CHECK_THAT(error_of(tiny("", R"(,"byte_fallback":true)")), Catch::Contains("<0x00>"));
  CHECK_THAT(error_of(tiny("", R"(,"unk_token":"none")")), Catch::Contains("/model/unk_token"));
  CHECK_THAT(error_of(tiny("", R"(,"end_of_word_suffix":"</w>")")), Catch::Contains("/model/end_of_word_suffix"));
  CHECK_THAT(error_of(tiny(R"(,"pre_tokenizer":{"type":"Split","pattern":{"Regex":"(a"},"behavior":"Isolated"})")),
             Catch::Contains("the pattern '(a' cannot be used"));
}

TEST_CASE("text that is not UTF-8 is refused with its byte") {
  const auto tokenizer = Tokenizer::parse(tiny(""), "tokenizer.json");
  const auto tokens = tokenizer->encode("ab\xFF");
  REQUIRE_FALSE(tokens);
  CHECK_THAT(tokens.error().what, Catch::Contains("byte 2"));
}

TEST_CASE("a pattern that backtracks without bound ends with its name") {
  const std::string pattern = R"(,"pre_tokenizer":{"type":"Split","pattern":{"Regex":"(a+)+$"},"behavior":"Isolated"})";
  const auto tokens = Tokenizer::parse(tiny(pattern), "x").value().encode(std::string(64, 'a') + "b");
  REQUIRE_FALSE(tokens);
  CHECK_THAT(tokens.error().what, Catch::Contains("'(a+)+$' cannot be matched"));
}

TEST_CASE("numbers that are no tokens, and special ones, do not show in the text") {
  const std::string added = R"(,"added_tokens":[{"id":8,"content":"<s>","special":true}],"decoder":{"type":"Fuse"})";
  const auto tokenizer = Tokenizer::parse(tiny(added), "x").value();
  CHECK(tokenizer.vocabulary() == 9);
  CHECK(tokenizer.decode(Tokens{8, 0, -1, 99, 4}) == "abc");
  CHECK(tokenizer.decode(Tokens{8, 0}, true) == "<s>a");
  CHECK(tokenizer.id_of("<s>") == 8);
  CHECK(tokenizer.id_of("abc") == 5);
  CHECK_FALSE(tokenizer.id_of("zz"));
}

}  // namespace plimsoll
