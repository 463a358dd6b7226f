#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "formats/text/parse_json.h"
#include "formats/text/read_text_file.h"
#include "formats/tokenizers/tokenizer.h"

// Small tokenizers of each kind (tests/reference/make_tokenizers.py), a text of everything awkward, and the tokens that Hugging
// Face's tokenizers made of it.
namespace plimsoll {
namespace {

const std::filesystem::path kFolder = PLIMSOLL_TOKENIZERS;
const std::vector<std::string> kKinds{"gpt2", "llama3", "qwen2", "llama2", "mistral", "gemma"};

std::string text_of(const std::filesystem::path& file) { return read_text_file(file, Bytes(1 << 22)).value(); }

Tokenizer tokenizer_of(const std::string& kind) { return Tokenizer::load(kFolder / (kind + ".json")).value(); }

nlohmann::json answer_of(const std::string& kind) {
  return parse_json(text_of(kFolder / (kind + ".tokens.json")), kind).value();
}

}  // namespace

TEST_CASE("every token of a mixed text is the reference tokenizer's") {
  const std::string text = text_of(kFolder / "text.txt");
  for (const std::string& kind : kKinds) {
    INFO(kind);
    const auto wanted = answer_of(kind).at("tokens").get<std::vector<TokenId>>();
    const auto found = tokenizer_of(kind).encode(text).value();
    REQUIRE(found.size() == wanted.size());
    CHECK(found == wanted);
  }
}

TEST_CASE("a second time, from the cache of words, the tokens are the same") {
  const std::string text = text_of(kFolder / "text.txt");
  for (const std::string& kind : kKinds) {
    INFO(kind);
    const Tokenizer tokenizer = tokenizer_of(kind);
    const auto first = tokenizer.encode(text).value();
    CHECK(tokenizer.encode(text).value() == first);
    CHECK(Tokenizer(tokenizer).encode(text).value() == first);
  }
}

TEST_CASE("without the frame, the tokens are those of the reference without special tokens") {
  const std::string text = text_of(kFolder / "text.txt");
  for (const std::string& kind : kKinds) {
    INFO(kind);
    const auto wanted = answer_of(kind).at("without_special").get<std::vector<TokenId>>();
    auto found = tokenizer_of(kind).encode(text, {.frame = false}).value();
    found.resize(wanted.size());
    CHECK(found == wanted);
  }
}

TEST_CASE("tokens become the text that the reference makes of them") {
  for (const std::string& kind : kKinds) {
    INFO(kind);
    const auto answer = answer_of(kind);
    const auto tokens = answer.at("tokens").get<std::vector<TokenId>>();
    CHECK(tokenizer_of(kind).decode(tokens) == answer.at("decoded").get<std::string>());
  }
}

TEST_CASE("a byte-level tokenizer without normalizer gives any text back to the byte") {
  const std::string text = text_of(kFolder / "text.txt");
  for (const char* kind : {"gpt2", "llama3"}) {
    const Tokenizer tokenizer = tokenizer_of(kind);
    CHECK(tokenizer.decode(tokenizer.encode(text, {.frame = false}).value(), true) == text);
  }
}

}  // namespace plimsoll
