#include <catch2/catch.hpp>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace plimsoll::test {
namespace {

using Catch::Contains;
using nlohmann::json;

const char* const kFactory =
    "model_name_or_path: meta-llama/Llama-3.1-8B\nquantization_bit: 4\nstage: sft\nfinetuning_type: lora\ncutoff_len: 1024\n"
    "per_device_train_batch_size: 2\ngradient_accumulation_steps: 4\nbf16: true\nlora_dropout: 0.05\n";

ChildEnd asked(const TemporaryFolder& folder, const Arguments& line) { return plimsoll_in(folder, line); }

/// The answer as --json has it, without what says how it was asked for.
json answer(const TemporaryFolder& folder, Arguments line) {
  line.emplace_back("--json");
  const ChildEnd end = asked(folder, line);
  INFO(end.err);
  REQUIRE(end.code == 0);
  return json::parse(end.out);
}

}  // namespace

TEST_CASE("a training file in a model's place is answered as its options are") {
  const TemporaryFolder folder;
  write_file(folder.file("train.yaml"), kFactory);
  const json by_file = answer(folder, {"fit", "train.yaml", "--on", "RTX 4090"});
  const json by_hand = answer(folder, {"fit", "llama3.1-8b", "--on", "RTX 4090", "--stack", "pytorch", "--base-bits", "4", "--lora", "8", "--lora-dropout", "0.05",
                                       "--seq", "1024", "--batch", "2", "--accumulate", "4", "--precision", "bf16-mixed", "--recompute", "full"});
  CHECK(by_file["step_seconds"] == by_hand["step_seconds"]);
  CHECK(by_file["memory"] == by_hand["memory"]);
  const ChildEnd said = asked(folder, {"fit", "train.yaml", "--on", "RTX 4090"});
  CHECK_THAT(said.err, Contains("train.yaml (LLaMA-Factory) says: meta-llama/Llama-3.1-8B --accumulate 4 --base-bits 4 --batch 2"));
}

TEST_CASE("what is typed wins over a training file, and a plan of ours takes what it can run") {
  const TemporaryFolder folder;
  write_file(folder.file("train.yml"), kFactory);
  CHECK_THAT(asked(folder, {"fit", "train.yml", "--on", "RTX 4090", "--batch", "1", "--global-batch", "8"}).out, Contains("8 x 1 x 1024 tokens"));
  CHECK_THAT(asked(folder, {"fit", "qwen3-8b", "train.yml", "--on", "RTX 4090"}).out, Contains("qwen3-8b (8.19 B"));
  const ChildEnd own = asked(folder, {"fit", "train.yml", "--on", "RTX 4090", "--stack", "plimsoll"});
  CHECK(own.code == 0);
  CHECK_THAT(own.err, Contains("left out, for only other programs have it: --lora-dropout --modules --recompute"));
  CHECK_THAT(own.out, Contains("rank 8") && Contains("nf4"));
  const ChildEnd grown = asked(folder, {"largest", "train.yml", "--on", "RTX 4090", "--what", "sequence", "--strategies", "as-said", "--most", "2048"});
  CHECK(grown.code == 0);
  CHECK_THAT(grown.out, Contains("2048 tokens"));
}

TEST_CASE("a launch file beside a model counts its GPUs, and a DeepSpeed configuration is found above the file that names it") {
  const TemporaryFolder folder;
  write_file(folder.file("fsdp.yaml"), "distributed_type: FSDP\nmixed_precision: bf16\nnum_processes: 2\nfsdp_config:\n  fsdp_sharding_strategy: FULL_SHARD\n");
  CHECK_THAT(asked(folder, {"fit", "gpt2", "fsdp.yaml", "--on", "RTX 4090"}).out, Contains("2 x RTX 4090") && Contains("ZeRO-3 over 2 GPUs"));
  CHECK_THAT(asked(folder, {"fit", "gpt2", "fsdp.yaml", "--on", "4x RTX 4090"}).out, Contains("ZeRO-3 over 4 GPUs"));
  CHECK_THAT(asked(folder, {"fit", "fsdp.yaml", "--on", "RTX 4090"}).err, Contains("MODEL is required"));
  std::filesystem::create_directories(folder.file("examples/full"));
  write_file(folder.file("examples/ds.json"), R"({"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}, "bf16": {"enabled": "auto"}})");
  write_file(folder.file("examples/full/train.yaml"), "model_name_or_path: gpt2\nstage: sft\nfinetuning_type: full\nbf16: true\ncutoff_len: 512\ndeepspeed: ds.json\n");
  CHECK_THAT(asked(folder, {"fit", "examples/full/train.yaml", "--on", "2x RTX 4090"}).out, Contains("deepspeed: ") && Contains("ZeRO-2 over 2 GPUs"));
}

TEST_CASE("a model whose name says that it is stored in 4 bits stays so beside adapters of another program") {
  const TemporaryFolder folder;
  const Arguments line{"fit", "unsloth/Qwen3-8B-bnb-4bit", "--on", "A100 80GB SXM4", "--stack", "pytorch", "--lora", "16"};
  const json named = answer(folder, line);
  Arguments said = line;
  said.insert(said.end(), {"--base-bits", "4"});
  CHECK(named["memory"] == answer(folder, said)["memory"]);
  said.back() = "16";
  CHECK(named["memory"] != answer(folder, said)["memory"]);
}

TEST_CASE("a training file that cannot be read ends with its key or line, as text and as JSON") {
  const TemporaryFolder folder;
  write_file(folder.file("broken.yaml"), "a: [1\n");
  write_file(folder.file("other.yaml"), "foo: 1\n");
  CHECK_THAT(asked(folder, {"fit", "broken.yaml", "--on", "RTX 4090"}).err, Contains("broken.yaml: line"));
  CHECK_THAT(asked(folder, {"fit", "absent.yaml", "--on", "RTX 4090"}).err, Contains("absent.yaml: no such file"));
  const ChildEnd other = asked(folder, {"fit", "other.yaml", "--on", "RTX 4090", "--json"});
  CHECK(other.code == 2);
  CHECK(json::parse(other.out)["error"]["what"] == "this is no training file that is known");
  // Commands that train nothing take such a file for what they read.
  CHECK_THAT(asked(folder, {"show", "other.yaml"}).err, !Contains("training file"));
}

}  // namespace plimsoll::test
