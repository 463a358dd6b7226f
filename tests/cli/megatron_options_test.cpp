#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace plimsoll::test {

namespace {

ChildEnd fit_under_megatron(const Arguments& more, const char* model = "gpt2") {
  const TemporaryFolder folder;
  Arguments line{"fit", model, "--on", "A100 80GB", "--stack", "megatron", "--dp", "4"};
  line.insert(line.end(), more.begin(), more.end());
  return plimsoll_in(folder, line);
}

void refused(const Arguments& more, const std::string& name, const char* model = "gpt2") {
  const ChildEnd end = fit_under_megatron(more, model);
  CHECK(end.code == 2);
  CHECK_THAT(end.err, Catch::Contains(name));
}

}  // namespace

TEST_CASE("options that Megatron-LM has not are refused by name, not ignored") {
  refused({"--zero", "2"}, "--zero");
  refused({"--zero", "3"}, "take --zero 1");
  refused({"--modules", "huggingface"}, "--modules would be ignored");
  refused({"--optimizer-loop", "for-loop"}, "--optimizer-loop would be ignored");
  refused({"--rotary-tables"}, "--rotary-tables");
  refused({"--loss-chunks", "2"}, "--loss-chunks");
  refused({"--update-in-backward"}, "--update-in-backward");
  refused({"--compile"}, "--compile");
  refused({"--attention", "efficient"}, "--attention");
  refused({"--attention", "cudnn"}, "Hopper alone");
  refused({"--optimizer", "lamb"}, "Megatron-LM has no lamb");
  refused({"--precision", "bf16"}, "take --precision bf16-mixed");
  refused({"--recompute", "full", "--offload", "activations:cpu"}, "--offload");
  refused({}, "side by side", "phi-2");
}

TEST_CASE("checkpoints of several blocks are told as such under Megatron-LM, and its optimizers as fused") {
  const auto memory = [](const char* rule) {
    return nlohmann::json::parse(fit_under_megatron({"--recompute", rule, "--json"}).out)["memory"][0]["peak_allocated_bytes"].get<std::int64_t>();
  };
  CHECK(memory("every:1") == memory("full"));
  CHECK(memory("every:3") != memory("full"));
  CHECK_THAT(fit_under_megatron({}).out, Catch::Contains("fused optimizer"));
  CHECK(fit_under_megatron({"--optimizer-loop", "fused", "--modules", "megatron", "--optimizer", "muon"}).code == 0);
}

TEST_CASE("arguments of Megatron's FSDP are exported without a prediction") {
  const TemporaryFolder folder;
  const ChildEnd end =
      plimsoll_in(folder, {"export", "gpt2", "--on", "A100 80GB", "--stack", "megatron", "--dp", "4", "--zero", "3", "--to", "megatron"});
  CHECK(end.code == 0);
  CHECK_THAT(end.out, Catch::Contains("foretold: nothing") && Catch::Contains("--data-parallel-sharding-strategy optim_grads_params"));
  for (const std::vector<std::string>& more : {std::vector<std::string>{"--tp", "5"}, {"--pp", "5"}, {"--compile"}}) {
    std::vector<std::string> asked{"export", "gpt2", "--on", "A100 80GB", "--stack", "megatron", "--dp", "4", "--zero", "3", "--to", "megatron"};
    asked.insert(asked.end(), more.begin(), more.end());
    CHECK(plimsoll_in(folder, asked).code != 0);
  }
}

}  // namespace plimsoll::test
