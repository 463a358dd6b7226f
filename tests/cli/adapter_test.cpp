#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/answer_of_run.h"
#include "tests/cli/program.h"

namespace plimsoll::test {
namespace {

using nlohmann::json;

/// Trains adapters beside a model for a few steps; `more` is appended.
Arguments training(const std::string& model, const Arguments& more, const std::string& steps = "4",
                   const std::string& output = "run.plimsoll") {
  Arguments line{
      "run", model,   "--data", kText, "--steps", steps,     "--device-memory", "16MiB", "--ram",    "512MiB", "--warm-up-steps",
      "0",   "--seq", "32",     "-o",  output,    "--force", "--json",          "-q",    "--matmul", "onednn", "--lr",
      "1e-2"};
  line.insert(line.end(), more.begin(), more.end());
  return line;
}

/// A model's folder "base" to put adapters beside.
void make_base(const TemporaryFolder& folder) { losses_of(plimsoll_in(folder, training(kTinyModel, {"--save", "base"}))); }

}  // namespace

TEST_CASE("adapters beside a mixture of experts are answered as PyTorch trains them") {
  const TemporaryFolder folder;
  const ChildEnd end =
      plimsoll_in(folder, {"fit", "mixtral-8x7b", "--lora", "16", "--on", "H200", "--seq", "512", "--json"});
  REQUIRE(end.code == 0);
  const json answer = json::parse(end.out);
  // Of 32 blocks: q and o of 4096 x 4096, k and v of 1024 x 4096, each with A and B of rank 16; fp32, and two moments
  // of each.
  const std::int64_t adapters = 32 * 16 * (2 * (4096 + 4096) + 2 * (1024 + 4096));
  CHECK(answer["memory"][0]["by_category"]["optimizer"] == 8 * adapters);
  CHECK(refusal(plimsoll_in(folder, {"plan", "mixtral-8x7b", "--lora", "16", "--on", "this"}))
            .find("mixture of experts") != std::string::npos);
}

TEST_CASE("adapters are trained beside a folder's model, saved, gone on with and merged into it") {
  const TemporaryFolder folder;
  make_base(folder);
  const json first =
      losses_of(plimsoll_in(folder, training("base", {"--init", "base", "--lora", "2:qkv,down", "--save", "adapter"})));
  const json config = json::parse(read_whole(folder.file("adapter/adapter_config.json")));
  CHECK(config["r"] == 2);
  CHECK(config["lora_alpha"] == 4);
  CHECK(config["target_modules"] == json{"c_attn", "mlp.c_proj"});
  CHECK(config["base_model_name_or_path"] == "base");
  const json onward = losses_of(plimsoll_in(folder, training("base", {"--init", "base", "--init-adapter", "adapter"}, "1")));
  const ChildEnd merged = plimsoll_in(folder, {"merge", "base", "adapter", "-o", "merged", "--json"});
  INFO(merged.err);
  REQUIRE(merged.code == 0);
  const json written = json::parse(merged.out);
  CHECK(written["file"] == "merged");
  CHECK(written["precision"] == "fp32");
  const json of_merged = losses_of(plimsoll_in(folder, training("merged", {"--init", "merged"}, "1")));
  CHECK(onward[0] == Approx(of_merged[0].get<double>()).epsilon(1e-6));
  CHECK(std::abs(onward[0].get<double>() - first[0].get<double>()) > 1e-4);  // the adapters are in it
}

TEST_CASE("a run of adapters is resumed bit for bit and finds its frozen model again, or says that it is gone") {
  const TemporaryFolder folder;
  make_base(folder);
  const json whole = losses_of(plimsoll_in(folder, training("base", {"--init", "base", "--lora", "2"}, "6")));
  losses_of(plimsoll_in(folder, training("base", {"--init", "base", "--lora", "2"}, "3", "half.plimsoll")));
  const Arguments resume{"run", "--resume", "half.plimsoll", "--data", kText, "--steps", "6", "--device-memory", "16MiB", "--ram",
                         "512MiB", "--warm-up-steps", "0", "-o", "rest.plimsoll", "--json", "-q"};
  CHECK(losses_of(plimsoll_in(folder, resume)) == json(std::vector<json>(whole.begin() + 3, whole.end())));
  std::filesystem::rename(folder.file("base"), folder.file("elsewhere"));
  Arguments again = resume;
  again[again.size() - 3] = "third.plimsoll";
  CHECK_THAT(refusal(plimsoll_in(folder, again)), Catch::Contains("not at base any more") && Catch::Contains("--init"));
  again.insert(again.end(), {"--init", "elsewhere"});
  CHECK(losses_of(plimsoll_in(folder, again)).size() == 3);
}

TEST_CASE("what adapters cannot be is refused before anything is trained") {
  const TemporaryFolder folder;
  make_base(folder);
  const auto refused = [&](const Arguments& more) { return refusal(plimsoll_in(folder, training("base", more))); };
  CHECK_THAT(refused({"--lora", "2:gate"}), Catch::Contains("'gate'") && Catch::Contains("qkv,o,up,down"));
  CHECK_THAT(refused({"--lora", "200"}), Catch::Contains("rank 200"));
  CHECK_THAT(refused({"--lora", "none"}), Catch::Contains("'none'"));
  CHECK_THAT(refused({"--lora-alpha", "4"}), Catch::Contains("--lora"));
  CHECK_THAT(refused({"--base-bits", "4"}), Catch::Contains("--lora"));
  CHECK_THAT(refused({"--lora", "2", "--base-bits", "5"}), Catch::Contains("4, 8 or 16"));
  CHECK_THAT(refused({"--lora", "2", "--lora-dropout", "0.1"}), Catch::Contains("dropout"));
  CHECK_THAT(refused({"--lora", "2", "--save", "adapter.safetensors"}), Catch::Contains("folder"));
  CHECK_THAT(refused({"--init-adapter", "base"}), Catch::Contains("adapter_config.json"));
  losses_of(plimsoll_in(folder, training("base", {"--lora", "2", "--save", "adapter"})));
  CHECK_THAT(refused({"--init-adapter", "adapter", "--lora", "3"}), Catch::Contains("--lora 3") && Catch::Contains("leave"));
  const std::string wider = "gpt:layers=2,hidden=64,heads=4,vocab=256,positions=32";
  CHECK_THAT(refusal(plimsoll_in(folder, training(wider, {"--init-adapter", "adapter"}))),
             Catch::Contains("needs [2, 64]") && Catch::Contains("another model"));
  const std::string llama = "llama:layers=2,hidden=32,heads=4,vocab=256,positions=32";
  CHECK_THAT(refusal(plimsoll_in(folder, {"merge", llama, "adapter", "-o", "merged"})), Catch::Contains("no weights"));
}

TEST_CASE("adapters beside a model in fewer bits are trained, resumed and saved, and each number of bits is another training") {
  const TemporaryFolder folder;
  make_base(folder);
  std::vector<json> first;
  for (const std::string bits : {"4", "8", "16"}) {
    const Arguments how{"--init", "base", "--lora", "2", "--base-bits", bits};
    const json whole = losses_of(plimsoll_in(folder, training("base", how, "4")));
    losses_of(plimsoll_in(folder, training("base", how, "2", "half" + bits)));
    const Arguments resume{
        "run",    "--resume",        "half" + bits, "--data", kText,         "--steps", "4", "--device-memory", "16MiB", "--ram",
        "512MiB", "--warm-up-steps", "0",           "-o",     "rest" + bits, "--json",  "-q"};
    CHECK(losses_of(plimsoll_in(folder, resume)) == json(std::vector<json>(whole.begin() + 2, whole.end())));
    first.push_back(whole[0]);
  }
  CHECK(first[0] != first[1]);
  CHECK(first[1] != first[2]);
}

TEST_CASE("fit says what of a model adapters train, and that it takes less") {
  const TemporaryFolder folder;
  const Arguments line{"fit", "gpt2", "--device-memory", "8GiB", "--ram", "8GiB", "--seq", "128", "--strategy", "resident"};
  Arguments with = line;
  with.insert(with.end(), {"--lora", "8"});
  const ChildEnd adapters = plimsoll_in(folder, with);
  INFO(adapters.err);
  CHECK(adapters.code == 0);
  CHECK_THAT(adapters.out, Catch::Contains("adapters of rank 8") && Catch::Contains("beside qkv,o,up,down"));
  CHECK_THAT(adapters.out, Catch::Contains("gradients and optimizer states") && !Catch::Contains("frozen model"));
  with.insert(with.end(), {"--base-bits", "4", "--json"});
  const json answer = json::parse(plimsoll_in(folder, with).out)["adapter"];
  CHECK(answer["base"] == "nf4");
  CHECK(answer["base_bytes"] < answer["whole_base_bytes"]);
  // fp32 gradients and two moments of every parameter, against those of the adapters alone.
  CHECK(answer["whole_training_bytes"] == 12 * std::int64_t{124'439'808});
  CHECK(answer["training_bytes"] == 12 * answer["trained_parameters"].get<std::int64_t>());
}

}  // namespace plimsoll::test
