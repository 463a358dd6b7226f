#include "formats/corpus/example.h"

#include <catch2/catch.hpp>

namespace plimsoll {
namespace {

Tokenizer tokenizer_of(const std::string& kind) {
  return Tokenizer::load(std::string(PLIMSOLL_TOKENIZERS) + "/" + kind + ".json").value();
}

/// The text of the tokens that count.
std::string counted_text(const Tokenizer& tokenizer, const Example& example) {
  std::vector<TokenId> counted;
  for (std::size_t i = 0; i < example.tokens.size(); ++i) {
    if (example.counts[i]) counted.push_back(example.tokens[i]);
  }
  return tokenizer.decode(counted, true);
}

/// Places of `part` within `text`.
TextSpan place_of(const std::string& text, const std::string& part) {
  const std::size_t begin = text.find(part);
  return {begin, begin + part.size()};
}

}  // namespace

TEST_CASE("the tokens of an answer count, and no others") {
  const std::string text = "<|im_start|>user\nWhat is law?<|im_end|>\n<|im_start|>assistant\nIt is so.<|im_end|>\n";
  for (const char* kind : {"gpt2", "llama3", "qwen2"}) {
    INFO(kind);
    const Tokenizer tokenizer = tokenizer_of(kind);
    const auto example = encode_answers(tokenizer, text, {place_of(text, "It is so.<|im_end|>")}, {.frame = false}).value();
    CHECK(example.tokens == tokenizer.encode(text, {.frame = false}).value());
    CHECK(counted_text(tokenizer, example) == "It is so.<|im_end|>");
  }
}

TEST_CASE("of SentencePiece's tokens as well") {
  const std::string text = "<s>[INST] What is law? [/INST] It is so. </s><s>[INST] Why? [/INST] Because. </s>";
  for (const char* kind : {"llama2", "mistral", "gemma"}) {
    INFO(kind);
    const Tokenizer tokenizer = tokenizer_of(kind);
    const std::vector<TextSpan> answers{place_of(text, " It is so. </s>"), place_of(text, " Because. </s>")};
    const auto example = encode_answers(tokenizer, text, answers, {.frame = false}).value();
    CHECK(example.tokens == tokenizer.encode(text, {.frame = false}).value());
    const std::string counted = counted_text(tokenizer, example);
    CHECK_THAT(counted, Catch::Contains("It is so."));
    CHECK_THAT(counted, Catch::Contains("Because."));
    CHECK(counted.find("Why") == std::string::npos);
    CHECK(counted.find("INST") == std::string::npos);
  }
}

TEST_CASE("a token that lies across the border counts, as with transformers") {
  const Tokenizer tokenizer = tokenizer_of("gpt2");
  const std::string text = "the people";  // " people" is cut into pieces that hold its beginning and its end
  const auto whole = tokenizer.encode(text).value();
  // An answer that begins within a token, after "the pe", takes the token that holds "o".
  const auto example = encode_answers(tokenizer, text, {{6, text.size()}}, {}).value();
  const std::string counted = counted_text(tokenizer, example);
  CHECK(counted.ends_with("ople"));
  CHECK(std::count(example.counts.begin(), example.counts.end(), true) < static_cast<std::ptrdiff_t>(whole.size()));
}

TEST_CASE("the frame does not count, and an empty answer has no token") {
  const Tokenizer tokenizer = tokenizer_of("llama3");
  const auto example = encode_answers(tokenizer, "law", {{0, 3}}, {}).value();
  CHECK(example.tokens.front() == tokenizer.id_of("<|begin_of_text|>"));
  CHECK_FALSE(example.counts.front());
  CHECK(counted_text(tokenizer, example) == "law");
  const auto none = encode_answers(tokenizer, "law", {{1, 1}}, {}).value();
  CHECK(std::count(none.counts.begin(), none.counts.end(), true) == 0);
}

}  // namespace plimsoll
