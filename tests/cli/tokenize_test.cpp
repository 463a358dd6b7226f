#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace plimsoll::test {
namespace {

using nlohmann::json;

const std::string kTokenizer = PLIMSOLL_TOKENIZERS "/gpt2.json";

Arguments tokenizing(const Arguments& more) {
  Arguments line{"tokenize", "--tokenizer", kTokenizer, "-o", "tokens.bin", "--json"};
  line.insert(line.end(), more.begin(), more.end());
  return line;
}

/// A chat a line.
std::string chats(int count) {
  std::string lines;
  for (int i = 0; i < count; ++i) {
    lines += R"({"messages":[{"role":"user","content":"What is article )" + std::to_string(i % 7) +
             R"( about?"},{"role":"assistant","content":"It is about the people of the states."}]})" "\n";
  }
  return lines;
}

void write_template(const TemporaryFolder& folder) {
  write_file(folder.file("chat.jinja"),
             "{% for m in messages %}<{{ m.role }}>{{ m.content }}<|endoftext|>{% endfor %}"
             "{% if add_generation_prompt %}<assistant>{% endif %}");
}

}  // namespace

TEST_CASE("chats become packed rows, a run trains on their answers, and its losses fall") {
  const TemporaryFolder folder;
  write_file(folder.file("chats.jsonl"), chats(40));
  write_template(folder);
  const ChildEnd made = plimsoll_in(folder, tokenizing({"chats.jsonl", "--template", "chat.jinja", "--pack", "64"}));
  INFO(made.err);
  REQUIRE(made.code == 0);
  const json answer = json::parse(made.out);
  CHECK(answer["documents"] == 40);
  CHECK(answer["rows"] > 1);
  CHECK(answer["bytes_per_token"] == 2);
  CHECK(answer["counted_tokens"] < answer["tokens"]);
  CHECK(answer["counted_tokens"] > 0);
  const ChildEnd ran = plimsoll_in(
      folder, {"run", "gpt:layers=1,hidden=32,heads=2,vocab=704,positions=64", "--data", "tokens.bin", "--eval-data",
               "tokens.bin", "--seq", "64", "--batch", "2", "--steps", "12", "--lr", "1e-2", "--device-memory", "32MiB", "--ram", "1GiB",
               "--matmul", "openblas", "--warm-up-steps", "0", "--json"});
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  const json losses = json::parse(ran.out)["losses"];
  CHECK(losses.back().get<double>() < 0.7 * losses.front().get<double>());
  const ChildEnd other = plimsoll_in(folder, tiny_run("4", {"--data", "tokens.bin"}));
  CHECK(other.code == 2);
}

TEST_CASE("what cannot be tokenized is refused with its reason, and nothing is written") {
  const TemporaryFolder folder;
  write_file(folder.file("chats.jsonl"), chats(2));
  write_file(folder.file("bad.jsonl"), "{\"text\":\"a\"}\n{\"text\"\n");
  write_file(folder.file("a.txt"), "We the People");
  write_file(folder.file("unigram.json"), R"({"model":{"type":"Unigram","vocab":[]}})");
  const auto refusal = [&](const Arguments& arguments) {
    const ChildEnd end = plimsoll_in(folder, arguments);
    CHECK(end.code == 2);
    CHECK_FALSE(std::filesystem::exists(folder.file("tokens.bin")));
    return end.err;
  };
  CHECK_THAT(refusal(tokenizing({"absent.txt"})), Catch::Contains("absent.txt"));
  CHECK_THAT(refusal(tokenizing({"chats.jsonl"})), Catch::Contains("--template"));
  CHECK_THAT(refusal(tokenizing({"bad.jsonl"})), Catch::Contains("bad.jsonl:2") && Catch::Contains("--skip-bad"));
  CHECK_THAT(refusal(tokenizing({"a.txt", "--end", "<nope>"})), Catch::Contains("<nope>"));
  CHECK_THAT(refusal(tokenizing({"a.txt", "--pack", "1"})), Catch::Contains("--pack"));
  CHECK_THAT(refusal(tokenizing({"a.txt", "--train-on", "users"})), Catch::Contains("--train-on"));
  CHECK_THAT(refusal({"tokenize", "--tokenizer", "unigram.json", "a.txt", "-o", "tokens.bin"}), Catch::Contains("Unigram"));
  CHECK(plimsoll_in(folder, tokenizing({"bad.jsonl", "--skip-bad"})).code == 0);
  CHECK_THAT(plimsoll_in(folder, tokenizing({"a.txt"})).err, Catch::Contains("--force"));
  CHECK(plimsoll_in(folder, tokenizing({"a.txt", "--force"})).code == 0);
}

}  // namespace plimsoll::test
