#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace plimsoll::test {
namespace {

using nlohmann::json;

Arguments writing(const std::string& model, const Arguments& more) {
  Arguments line{"generate", model, "--max-new-tokens", "12", "--json"};
  line.insert(line.end(), more.begin(), more.end());
  return line;
}

json answer_of(const ChildEnd& end) {
  INFO(end.err);
  REQUIRE(end.code == 0);
  return json::parse(end.out);
}

void train(const TemporaryFolder& folder) {
  const ChildEnd end = plimsoll_in(folder, tiny_run("4", {"--save", "saved"}));
  INFO(end.err);
  REQUIRE(end.code == 0);
}

}  // namespace

TEST_CASE("a run file, its checkpoint and the saved folder write the same text") {
  const TemporaryFolder folder;
  train(folder);
  const json of_run = answer_of(plimsoll_in(folder, writing("run.plimsoll", {"--prompt", "We the", "--seed", "3"})));
  CHECK(of_run["prompt_tokens"] == 6);
  CHECK(of_run["tokens"].size() == 12);
  CHECK(of_run["ended_by"] == "length");
  for (const char* name : {"saved", "saved/model.safetensors", "run.plimsoll.checkpoint.safetensors"}) {
    const json same = answer_of(plimsoll_in(folder, writing(name, {"--prompt", "We the", "--seed", "3"})));
    CHECK(same["tokens"] == of_run["tokens"]);
  }
  const json numbers = answer_of(plimsoll_in(folder, writing("saved", {"--prompt-tokens", "87,101 32,116,104,101", "--seed", "3"})));
  CHECK(numbers["tokens"] == of_run["tokens"]);
  CHECK(answer_of(plimsoll_in(folder, writing("saved", {"--prompt", "We the", "--seed", "4"})))["tokens"] != of_run["tokens"]);
}

TEST_CASE("without --json the prompt and what follows it go to standard output, and nothing else") {
  const TemporaryFolder folder;
  train(folder);
  const ChildEnd end = plimsoll_in(folder, {"generate", "saved", "--prompt", "We the", "-n", "5", "--greedy"});
  CHECK(end.code == 0);
  CHECK(end.out.find("We the") == 0);
  CHECK(end.err.find("5 tokens") != std::string::npos);
}

TEST_CASE("a tokenizer beside the weights, or a named one, reads the prompt and writes the text") {
  const TemporaryFolder folder;
  const std::string tokenizers = PLIMSOLL_TOKENIZERS;
  const Arguments wide = {"run", "gpt:layers=1,hidden=32,heads=4,vocab=900,positions=32", "--data", kText, "--steps", "2",
                          "--device-memory", "16MiB", "--ram", "512MiB", "--warm-up-steps", "0", "-o", "run.plimsoll", "--save",
                          "saved", "-q"};
  REQUIRE(plimsoll_in(folder, wide).code == 0);
  CHECK(plimsoll_in(folder, {"generate", "saved", "--prompt", "We the"}).err.find("tokenizer.json") != std::string::npos);
  const json named = answer_of(plimsoll_in(folder, writing("saved", {"--prompt", "We the", "--tokenizer", tokenizers + "/llama2.json"})));
  std::filesystem::copy_file(tokenizers + "/llama2.json", folder.file("saved/tokenizer.json"));
  const json beside = answer_of(plimsoll_in(folder, writing("saved", {"--prompt", "We the"})));
  CHECK(named["tokens"] == beside["tokens"]);
  CHECK(named["text"] == beside["text"]);
  CHECK(named["prompt_tokens"].get<int>() < 6);
  // The first token that it writes, declared an end, ends the text before it.
  write_file(folder.file("saved/generation_config.json"), fmt::format(R"({{"eos_token_id": [1, {}]}})", beside["tokens"][0].get<int>()));
  const json ended = answer_of(plimsoll_in(folder, writing("saved", {"--prompt", "We the"})));
  CHECK(ended["ended_by"] == "end of text");
  CHECK(ended["tokens"].empty());
  CHECK(answer_of(plimsoll_in(folder, writing("saved", {"--prompt", "We the", "--ignore-end"})))["tokens"] == beside["tokens"]);
}

TEST_CASE("weights of two bytes write; adapters alone are refused, and how to join them is said") {
  const TemporaryFolder folder;
  REQUIRE(plimsoll_in(folder, tiny_run("4", {"--precision", "bf16", "--save", "saved"})).code == 0);
  const json of_run = answer_of(plimsoll_in(folder, writing("run.plimsoll", {"--prompt", "We the"})));
  CHECK(of_run["tokens"] == answer_of(plimsoll_in(folder, writing("saved", {"--prompt", "We the"})))["tokens"]);
  const Arguments adapted{"run", "saved", "--init", "saved", "--lora", "2", "--data", kText, "--steps", "2", "--warm-up-steps", "0",
                          "--device-memory", "16MiB", "--ram", "512MiB", "--seq", "32", "-o", "lora.plimsoll", "-q"};
  REQUIRE(plimsoll_in(folder, adapted).code == 0);
  CHECK(plimsoll_in(folder, {"generate", "lora.plimsoll", "--prompt", "We"}).err.find("plimsoll merge ") != std::string::npos);
}

TEST_CASE("what cannot be generated from is refused with its reason") {
  const TemporaryFolder folder;
  train(folder);
  const auto refusal = [&](const Arguments& arguments) {
    const ChildEnd end = plimsoll_in(folder, arguments);
    CHECK(end.code == 2);
    return end.err;
  };
  CHECK(refusal({"generate", "gpt2", "--prompt", "x"}).find("no weights") != std::string::npos);
  CHECK(refusal({"generate", "saved"}).find("--prompt") != std::string::npos);
  CHECK(refusal({"generate", "saved", "--prompt-tokens", "256"}).find("256") != std::string::npos);
  CHECK(refusal({"generate", "saved", "--prompt-tokens", "1,x"}).find("1,x") != std::string::npos);
  CHECK(refusal({"generate", "saved", "--prompt", "x", "--top-p", "1.5"}).find("--top-p") != std::string::npos);
  CHECK(refusal({"generate", "saved", "--prompt", "x", "-n", "0"}).find("--max-new-tokens") != std::string::npos);
  CHECK(refusal({"generate", "saved", "--prompt", "x", "-n", "40"}).find("32") != std::string::npos);  // positions
}

}  // namespace plimsoll::test
