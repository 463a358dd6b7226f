#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/answer_of_run.h"
#include "tests/cli/program.h"

namespace plimsoll::test {
namespace {

using nlohmann::json;

/// Trains a model of 256 tokens for a few steps; `more` is appended.
Arguments training(const std::string& model, const Arguments& more) {
  Arguments line{"run", model, "--data", kText, "--steps", "3", "--device-memory", "16MiB", "--ram", "512MiB", "--warm-up-steps",
                 "0", "--seq", "32", "-o", "run.plimsoll", "--force", "--json", "-q", "--matmul", "onednn"};
  line.insert(line.end(), more.begin(), more.end());
  return line;
}

}  // namespace

TEST_CASE("a saved folder, whole or in shards, is a model that the next run starts from") {
  const TemporaryFolder folder;
  losses_of(plimsoll_in(folder, training(kTinyModel, {"--save", "whole"})));
  losses_of(plimsoll_in(folder, training(kTinyModel, {"--save", "shards/", "--save-shards", "30kB"})));
  CHECK(std::filesystem::exists(folder.file("whole/model.safetensors")));
  CHECK_FALSE(std::filesystem::exists(folder.file("shards/model.safetensors")));
  CHECK(std::filesystem::exists(folder.file("shards/model.safetensors.index.json")));
  const json whole = losses_of(plimsoll_in(folder, training("whole", {"--init", "whole"})));
  CHECK(losses_of(plimsoll_in(folder, training("shards", {"--init", "shards"}))) == whole);
  CHECK(losses_of(plimsoll_in(folder, training(kTinyModel, {"--init", "shards/model.safetensors.index.json"}))) == whole);
  CHECK(losses_of(plimsoll_in(folder, training("whole", {}))) != whole);  // a model alone starts from the seed
  CHECK(files_in(folder) == std::vector<std::string>{"run.plimsoll", "run.plimsoll.checkpoint.safetensors", "shards", "whole"});
}

TEST_CASE("a tokenizer and the ids of its special tokens go along from the weights to what is saved") {
  const TemporaryFolder folder;
  losses_of(plimsoll_in(folder, training(kTinyModel, {"--save", "first"})));
  json config = json::parse(read_whole(folder.file("first/config.json")));
  config["eos_token_id"] = 7;
  write_file(folder.file("first/config.json"), config.dump());
  write_file(folder.file("first/tokenizer.json"), "{}");
  losses_of(plimsoll_in(folder, training("first", {"--init", "first", "--save", "second", "--save-precision", "bf16"})));
  CHECK(read_whole(folder.file("second/tokenizer.json")) == "{}");
  const json saved = json::parse(read_whole(folder.file("second/config.json")));
  CHECK(saved["eos_token_id"] == 7);
  CHECK(saved["torch_dtype"] == "bfloat16");
}

TEST_CASE("weights that cannot be read and places that cannot be written are told before anything is trained") {
  const TemporaryFolder folder;
  losses_of(plimsoll_in(folder, training(kTinyModel, {"--save", "model", "--save-shards", "30kB"})));
  CHECK_THAT(refusal(plimsoll_in(folder, training(kTinyModel, {"--save", "model"}))), Catch::Contains("not empty"));
  CHECK_THAT(refusal(plimsoll_in(folder, training(kTinyModel, {"--save", "model/config.json"}))), Catch::Contains("no folder"));
  CHECK_THAT(refusal(plimsoll_in(folder, training("model", {"--init", "none"}))), Catch::Contains("none"));
  const std::string wider = "gpt:layers=2,hidden=32,heads=4,ffn=96,vocab=256,positions=32";
  CHECK_THAT(refusal(plimsoll_in(folder, training(wider, {"--init", "model"}))),
             Catch::Contains("c_fc.weight' has shape [32, 128], but the model needs [32, 96]"));
  const std::string other = kTinyModel + ",epsilon=1e-3";
  CHECK_THAT(refusal(plimsoll_in(folder, training(other, {"--init", "model"}))), Catch::Contains("config.json has epsilon=1"));
  const json index = json::parse(read_whole(folder.file("model/model.safetensors.index.json")));
  const std::string shard = index["weight_map"]["transformer.ln_f.weight"];
  REQUIRE(std::filesystem::remove(folder.file("model/" + shard)));
  CHECK_THAT(refusal(plimsoll_in(folder, training("model", {"--init", "model"}))),
             Catch::Contains("the shard " + shard) && Catch::Contains("is missing"));
}

}  // namespace plimsoll::test
