#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "formats/text/csv.h"
#include "tests/cli/program.h"
#include "tests/support/temporary_folder.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

Arguments with(Arguments line, const Arguments& more) {
  line.insert(line.end(), more.begin(), more.end());
  return line;
}

const Arguments kInference{"fit", "opt-1.3b", "--workload", "inference", "--on", "T4", "--ram", "64GB"};

}  // namespace

TEST_CASE("an inference is answered in words and in JSON, and says that it is simulated only") {
  const TemporaryFolder folder;
  const ChildEnd words = plimsoll_in(folder, with(kInference, {"--batch", "4"}));
  CHECK(words.code == 0);
  CHECK(words.out.find("FITS") != std::string::npos);
  CHECK(words.out.find("simulated only") != std::string::npos);
  const ChildEnd end = plimsoll_in(folder, with(kInference, {"--batch", "4", "--json"}));
  const auto json = nlohmann::json::parse(end.out);
  CHECK(json.at("verdict") == "fits");
  CHECK(json.at("simulated_only") == true);
  CHECK(json.at("kv_bytes_per_token") == 2 * 24 * 2048 * 2);
  CHECK(json.at("memory").at(0).at("by_category").at("kv_cache") == 4 * 543 * 2 * 24 * 2048 * 2);
  const ChildEnd hooked = plimsoll_in(folder, with(kInference, {"--batch", "4", "--program", "zero-inference-0.8", "--json"}));
  CHECK(nlohmann::json::parse(hooked.out).at("policy").at("program") == "zero-inference-0.8");
}

TEST_CASE("what does not fit ends with 3, and an option that would be ignored is named") {
  const TemporaryFolder folder;
  CHECK(
      plimsoll_in(folder, with(kInference, {"--batch", "4", "--percent", "100,0,100,0,100,0", "--device-memory", "1GiB"})).code ==
      3);
  const std::pair<Arguments, std::string> refused[] = {{{"--optimizer", "sgd"}, "--optimizer"},
                                                       {{"--lora", "4"}, "--lora"},
                                                       {{"--percent", "1,2"}, "--percent"},
                                                       {{"--cache-bits", "3"}, "--cache-bits"},
                                                       {{"--program", "zero-inference", "--no-overlap"}, "--no-overlap"},
                                                       {{"--batch", "4", "--program", "zero-inference", "--gpu-batch", "2"}, "--gpu-batch"},
                                                       {{"--batch", "4", "--program", "accelerate", "--gpu-batch", "2"}, "--gpu-batch"},
                                                       {{"--batch", "4", "--gpu-batch", "3"}, "--gpu-batch"},
                                                       {{"--prompt", "4000"}, "positions"}};
  for (const auto& [options, named] : refused) {
    const ChildEnd end = plimsoll_in(folder, with(kInference, options));
    CHECK(end.code == 2);
    CHECK(end.err.find(named) != std::string::npos);
  }
}

TEST_CASE(
    "latent attention, sinks and caps have an inference, and a preference training is refused by what lacks a kernel") {
  const TemporaryFolder folder;
  for (const char* model : {"deepseek-v2-lite", "gpt-oss-20b", "gemma-2-2b", "llama4-scout", "olmo-1b"}) {
    INFO(model);
    const ChildEnd end = plimsoll_in(
        folder, {"fit", model, "--workload", "inference", "--on", "H200", "--ram", "512GB", "--batch", "2", "--json"});
    CHECK(end.code == 0);
    CHECK(nlohmann::json::parse(end.out).at("verdict") == "fits");
  }
  for (const char* workload : {"dpo", "ppo"}) {
    const ChildEnd end = plimsoll_in(folder, {"fit", "deepseek-v2-lite", "--workload", workload, "--on", "H200"});
    CHECK(end.code == 2);
    CHECK(end.err.find("has latent attention") != std::string::npos);
  }
}

TEST_CASE("a workload that is not known, a model that writes nothing, and options without their workload are refused") {
  const TemporaryFolder folder;
  const ChildEnd unknown = plimsoll_in(folder, {"fit", "gpt2", "--on", "T4", "--workload", "tea"});
  CHECK(unknown.code == 2);
  CHECK(unknown.err.find("inference") != std::string::npos);
  const ChildEnd encoder = plimsoll_in(folder, {"fit", "bert-base", "--on", "T4", "--workload", "inference"});
  CHECK(encoder.code == 2);
  CHECK(encoder.err.find("is an encoder") != std::string::npos);
  const ChildEnd training = plimsoll_in(folder, {"fit", "gpt2", "--on", "T4", "--prompt", "8"});
  CHECK(training.code == 2);
  CHECK(training.err.find("--workload") != std::string::npos);
}

TEST_CASE("a net's samples are a number or a data set that is counted in samples") {
  const TemporaryFolder folder;
  const auto ask = [&](const std::string& samples) {
    return plimsoll_in(folder, {"fit", "dit-s/2", "--workload", "diffusion", "--on", "A100 80GB SXM4", "--samples", samples,
                                 "--json"});
  };
  CHECK(ask("coco").out == ask("118287").out);
  const ChildEnd refused = ask("c4");
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, Catch::Contains("laion-400m"));
}

TEST_CASE("preference, reward, diffusion and the Evoformer are workloads with answers of their own") {
  const TemporaryFolder folder;
  const Arguments lines[] = {
      {"fit", "gpt2", "--workload", "dpo", "--on", "A100 80GB SXM4", "--seq", "256", "--json"},
      {"fit", "gpt2", "--workload", "ppo", "--on", "A100 80GB SXM4", "--prompt", "64", "--new-tokens", "16", "--json"},
      {"fit", "dit-s/2", "--workload", "diffusion", "--on", "A100 80GB SXM4", "--batch", "4", "--json"},
      {"fit", "evoformer", "--workload", "evoformer", "--on", "A100 80GB SXM4", "--residues", "64", "--msa", "16", "--recompute",
       "full", "--json"}};
  for (const Arguments& line : lines) {
    const ChildEnd end = plimsoll_in(folder, line);
    INFO(line[1] << ": " << end.err);
    REQUIRE(end.code == 0);
    const auto json = nlohmann::json::parse(end.out);
    CHECK(json.at("verdict") == "fits");
    CHECK(json.at("workload") == line[3]);
    CHECK(json.at("step_seconds") > 0);
    CHECK(json.at("simulated_only") == true);
  }
}

TEST_CASE("every workload has its table as CSV, as many fields in each line as in the first") {
  const TemporaryFolder folder;
  const Arguments lines[] = {
      {"fit", "opt-1.3b", "--workload", "inference", "--on", "T4", "--ram", "64GB", "--csv"},
      {"fit", "gpt2", "--workload", "dpo", "--on", "A100 80GB SXM4", "--seq", "256", "--csv"},
      {"fit", "gpt2", "--workload", "ppo", "--on", "A100 80GB SXM4", "--prompt", "64", "--new-tokens", "16", "--csv"},
      {"fit", "dit-s/2", "--workload", "diffusion", "--on", "A100 80GB SXM4", "--batch", "4", "--csv"},
      {"fit", "evoformer", "--workload", "evoformer", "--on", "A100 80GB SXM4", "--residues", "64", "--msa", "16", "--recompute",
       "full", "--csv"}};
  for (const Arguments& line : lines) {
    const ChildEnd end = plimsoll_in(folder, line);
    INFO(line[1] << ": " << end.err);
    REQUIRE(end.code == 0);
    const auto table = read_csv(end.out, "stdout");
    REQUIRE(table);
    REQUIRE_FALSE(table->rows.empty());
    if (table->header.size() < 4 || table->header[3] != "margin_bytes") continue;
    const std::vector<std::string>& row = table->rows.front().fields;
    CHECK(std::stoll(row[3]) == std::stoll(row[2]) - std::stoll(row[1]));  // usable without what is needed
  }
}

TEST_CASE("a net's name says its workload") {
  const TemporaryFolder folder;
  const ChildEnd said = plimsoll_in(folder, {"fit", "dit-s/2", "--workload", "diffusion", "--on", "T4", "--image", "256"});
  const ChildEnd left_out = plimsoll_in(folder, {"fit", "DiT-S/2", "--on", "T4", "--image", "256"});
  CHECK(said.code == 0);
  CHECK(left_out.out == said.out);
}

TEST_CASE("a workload refuses models, sizes and options that are not its own") {
  const TemporaryFolder folder;
  const std::pair<Arguments, std::string> refused[] = {
      {{"fit", "evoformer", "--workload", "diffusion", "--on", "T4"}, "--workload evoformer"},
      {{"fit", "gpt2", "--workload", "diffusion", "--on", "T4"}, "dit-xl/2"},
      {{"fit", "sd1.5-unet", "--workload", "diffusion", "--on", "T4", "--image", "500"}, "--image"},
      {{"fit", "dit-s/2", "--workload", "diffusion", "--on", "T4", "--residues", "64"}, "--residues"},
      {{"fit", "gpt2", "--workload", "dpo", "--on", "T4", "--reward", "gpt2"}, "--reward"},
      {{"fit", "evoformer", "--workload", "evoformer", "--on", "T4", "--dap", "3"}, "--dap"},
      {{"fit", "dit-s/2", "--workload", "diffusion", "--on", "T4", "--dap", "2"}, "--dap"},
      {{"fit", "evoformer", "--workload", "evoformer", "--on", "T4", "--samples", "many"}, "--samples"},
      {{"fit", "gpt2", "--workload", "ppo", "--on", "T4", "--seq", "64"}, "--seq"},
      {{"fit", "gpt2", "--workload", "ppo", "--on", "T4", "--reward", "nothing"}, "nothing"}};
  for (const auto& [line, named] : refused) {
    const ChildEnd end = plimsoll_in(folder, line);
    INFO(line[1] << ' ' << end.err);
    CHECK(end.code == 2);
    CHECK(end.err.find(named) != std::string::npos);
  }
}
