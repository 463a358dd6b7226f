#include "formats/corpus/tokenize_files.h"

#include <catch2/catch.hpp>

#include "formats/corpus/line_reader.h"
#include "formats/text/read_text_file.h"
#include "formats/text/write_text_file.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

const Tokenizer& tokenizer() {
  static const Tokenizer loaded = Tokenizer::load(std::string(PLIMSOLL_TOKENIZERS) + "/gpt2.json").value();
  return loaded;
}

TokenId end() { return *tokenizer().id_of("<|endoftext|>"); }

const ChatTemplate& chatml() {
  static const ChatTemplate chat =
      ChatTemplate::parse("{% for m in messages %}<{{ m.role }}>{{ m.content }}<|endoftext|>{% endfor %}"
                          "{% if add_generation_prompt %}<assistant>{% endif %}", "chatml").value();
  return chat;
}

struct Made {
  Result<TokenizeReport> report = TokenizeReport{};
  std::vector<TokenId> tokens;
  std::string counted;  ///< the text of the tokens that count
  bool left_over = false;
};

/// Tokenizes one file of that name and content.
Made tokenize(const std::string& name, const std::string& content, TokenizeRequest request = {}) {
  const TemporaryFolder folder;
  write_text_file(folder.file(name), content);
  request.files = {folder.file(name)};
  request.output = folder.file("out.bin");
  request.rules.end = end();
  request.rules.chat = &chatml();
  Made made{.report = tokenize_files(tokenizer(), request)};
  made.left_over = std::filesystem::exists(folder.file("out.bin")) || std::filesystem::exists(folder.file("out.bin.tmp"));
  if (!made.report) return made;
  const std::string bytes = read_text_file(folder.file("out.bin"), Bytes(1 << 22)).value();
  const TokenFileNote& note = made.report->note;
  std::vector<TokenId> counted;
  for (std::int64_t i = 0; i < note.tokens; ++i) {
    const auto at = static_cast<std::size_t>(2 * i);
    made.tokens.push_back(static_cast<unsigned char>(bytes[at]) | static_cast<unsigned char>(bytes[at + 1]) << 8);
    const auto bit = static_cast<std::size_t>(note.mask_offset().count + i / 8);
    if (!note.masked || (bytes[bit] >> (i % 8) & 1)) counted.push_back(made.tokens.back());
  }
  made.counted = tokenizer().decode(counted, true);
  return made;
}

std::string error_of(const std::string& name, const std::string& content) {
  const Made made = tokenize(name, content);
  CHECK_FALSE(made.left_over);
  return made.report ? "none" : made.report.error().text();
}

}  // namespace

TEST_CASE("a text is one document with the end behind it, every token counted") {
  const Made made = tokenize("a.txt", "We the People");
  std::vector<TokenId> wanted = tokenizer().encode("We the People").value();
  wanted.push_back(end());
  CHECK(made.tokens == wanted);
  CHECK(made.counted == "We the People<|endoftext|>");
  CHECK(made.report->documents == 1);
  CHECK_FALSE(made.report->note.masked);
}

TEST_CASE("of lines, texts count whole, prompts and questions not") {
  const std::string lines =
      "{\"text\":\"plain\"}\n\n"
      "{\"prompt\":\"Why?\",\"completion\":\" Because.\"}\r\n"
      "{\"messages\":[{\"role\":\"user\",\"content\":\"Q\"},{\"role\":\"assistant\",\"content\":\"A\"},"
      "{\"role\":\"user\",\"content\":\"q\"},{\"role\":\"assistant\",\"content\":\"a\"}]}\n"
      "{\"prompt\":[{\"role\":\"user\",\"content\":\"Q\"}],\"completion\":[{\"role\":\"assistant\",\"content\":\"B\"}]}";
  const Made made = tokenize("x.jsonl", lines);
  REQUIRE(made.report);
  CHECK(made.report->documents == 4);
  CHECK(made.counted == "plain<|endoftext|> Because.<|endoftext|>A<|endoftext|>a<|endoftext|>B<|endoftext|>");
  CHECK(tokenizer().decode(made.tokens, true) ==
        "plain<|endoftext|>Why? Because.<|endoftext|><user>Q<|endoftext|><assistant>A<|endoftext|><user>q<|endoftext|>"
        "<assistant>a<|endoftext|><user>Q<|endoftext|><assistant>B<|endoftext|>");
  TokenizeRequest all;
  all.rules.answers_only = false;
  CHECK_FALSE(tokenize("x.jsonl", lines, all).report->note.masked);
}

TEST_CASE("a line that cannot be used is named with its number") {
  const std::string good = "{\"text\":\"a\"}\n";
  CHECK_THAT(error_of("x.jsonl", good + "{\"text\":"), Catch::Contains("x.jsonl:2"));
  CHECK_THAT(error_of("x.jsonl", good + good + "[1]"), Catch::Contains("x.jsonl:3: a line must be an object"));
  CHECK_THAT(error_of("x.jsonl", good + "{\"body\":\"a\"}"), Catch::Contains("x.jsonl:2: there is no text under \"text\""));
  CHECK_THAT(error_of("x.jsonl", good + "{\"text\":5}"), Catch::Contains("x.jsonl:2"));
  CHECK_THAT(error_of("x.jsonl", good + "{\"prompt\":\"a\",\"completion\":5}"), Catch::Contains("x.jsonl:2: \"prompt\" and"));
  CHECK_THAT(error_of("x.jsonl", good + "{\"messages\":[{\"content\":\"a\"}]}"),
             Catch::Contains("x.jsonl:2: message 1 has no \"role\""));
  CHECK_THAT(error_of("x.jsonl", good + "{\"text\":\"\xFF\"}"), Catch::Contains("x.jsonl:2"));
  CHECK_THAT(error_of("x.jsonl", good + "{\"text\":\"" + std::string(LineReader::kLongestLine, 'x') + "\"}"),
             Catch::Contains("x.jsonl:2: a line of more than 64"));
  CHECK_THAT(error_of("a.txt", "abc\xFFx"), Catch::Contains("a.txt: the text is not UTF-8: byte 3"));
  CHECK_THAT(error_of("a.txt", ""), Catch::Contains("there is no text in it"));
  std::string deep;
  for (int i = 0; i < 10000; ++i) deep += "[";
  CHECK_THAT(error_of("x.jsonl", "{\"text\":" + deep), Catch::Contains("x.jsonl:1"));
}

TEST_CASE("skip_bad counts such lines, keeps the first reason and takes the others") {
  TokenizeRequest request;
  request.skip_bad = true;
  const Made made = tokenize("x.jsonl", "{\"text\":\"a\"}\n{\n{\"no\":1}\n{\"text\":\"b\"}\n{\"text\":\"\"}\n", request);
  REQUIRE(made.report);
  CHECK(made.report->documents == 2);
  CHECK(made.report->bad == 2);
  CHECK(made.report->empty == 1);
  CHECK_THAT(made.report->first_bad->text(), Catch::Contains("x.jsonl:2"));
  CHECK(made.counted == "a<|endoftext|>b<|endoftext|>");
}

TEST_CASE("packed rows hold sequence + 1 tokens, and a document that has no answer is told") {
  TokenizeRequest request;
  request.sequence = 15;
  const Made made = tokenize("x.jsonl", "{\"text\":\"We the People of the United States\"}\n{\"text\":\"a\"}\n", request);
  REQUIRE(made.report);
  CHECK(made.report->note.row == 16);
  CHECK(made.tokens.size() % 16 == 0);
  CHECK(made.report->note.masked);
  CHECK(made.report->padding > 0);
}

TEST_CASE("a stop leaves nothing") {
  const std::atomic<bool> stop = true;
  TokenizeRequest request;
  request.stop = &stop;
  const Made made = tokenize("x.jsonl", "{\"text\":\"a\"}\n", request);
  REQUIRE_FALSE(made.report);
  CHECK(made.report.error().kind == ErrorKind::kInterrupted);
  CHECK_FALSE(made.left_over);
}

}  // namespace plimsoll
