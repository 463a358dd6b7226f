#include <catch2/catch.hpp>
#include <random>
#include <string>

#include "formats/tokenizers/tokenizer.h"

// A tokenizer file that was valid and then damaged, and texts of random bytes: an answer or an error with words, never a
// crash or an endless loop.
namespace plimsoll {
namespace {

const std::string kValid =
    R"({"added_tokens":[{"id":9,"content":"<s>","special":true,"lstrip":true}],"normalizer":{"type":"Sequence","normalizers":)"
    R"([{"type":"NFC"},{"type":"Prepend","prepend":"_"},{"type":"Replace","pattern":{"Regex":" +"},"content":"_"}]},)"
    R"("pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"\\s+|[^\\s]+"},)"
    R"("behavior":"Isolated"},{"type":"ByteLevel","use_regex":true}]},"post_processor":{"type":"TemplateProcessing","single":)"
    R"([{"SpecialToken":{"id":"<s>"}},{"Sequence":{"id":"A"}}],"special_tokens":{"<s>":{"ids":[9]}}},"decoder":{"type":)"
    R"("Sequence","decoders":[{"type":"ByteFallback"},{"type":"Strip","content":" ","start":1,"stop":0}]},"model":)"
    R"({"type":"BPE","unk_token":"?","vocab":{"a":0,"b":1,"ab":2,"?":3},"merges":["a b"]}})";

void use(const std::string& file, std::string_view text) {
  const auto tokenizer = Tokenizer::parse(file, "tokenizer.json");
  if (!tokenizer) {
    if (tokenizer.error().what.empty()) FAIL("an error without words");
    return;
  }
  const auto tokens = tokenizer->encode(text);
  if (!tokens && tokens.error().what.empty()) FAIL("an error without words");
  if (tokens) (void)tokenizer->decode(*tokens, true);
}

}  // namespace

TEST_CASE("a damaged tokenizer file is refused in words or used") {
  REQUIRE(Tokenizer::parse(kValid, "tokenizer.json"));
  std::mt19937_64 random(20261121);
  for (std::size_t i = 0; i < kValid.size(); ++i) {
    use(kValid.substr(0, i), "a b ab");
    use(kValid.substr(0, i) + kValid.substr(i + 1), "a b ab");
    for (int k = 0; k < 3; ++k) {
      std::string form = kValid;
      form[i] = static_cast<char>(random() % 256);
      use(form, "a b ab<s>");
    }
    if (kValid[i] < '0' || kValid[i] > '9') continue;
    for (const char* number : {"-1", "18446744073709551615", "4294967296", "2147483647", "1e308", "0.5"}) {
      use(kValid.substr(0, i) + number + kValid.substr(i + 1), "a b ab");
    }
  }
  for (const char* opening : {"[", "{\"a\":", "{\"type\":\"Sequence\",\"normalizers\":["}) {
    std::string deep;
    for (int k = 0; k < 20000; ++k) deep += opening;
    use(deep, "a");
    use(R"({"model":{"vocab":{"a":0},"merges":[]},"normalizer":)" + deep, "a");
  }
}

TEST_CASE("a text of random bytes is tokenized or refused with its byte") {
  const auto tokenizer = Tokenizer::parse(kValid, "tokenizer.json").value();
  std::mt19937_64 random(7);
  for (int round = 0; round < 3000; ++round) {
    std::string text(random() % 40, ' ');
    for (char& c : text) c = static_cast<char>(random() % (round % 2 == 0 ? 256 : 128));
    const auto tokens = tokenizer.encode(text);
    if (!tokens) CHECK_THAT(tokens.error().what, Catch::Contains("byte"));
  }
}

}  // namespace plimsoll
