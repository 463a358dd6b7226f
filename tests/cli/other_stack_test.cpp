#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace plimsoll::test {

namespace {

using nlohmann::json;

Arguments fit_under(const Arguments& more) {
  Arguments line{"fit", "gpt2", "--on", "RTX 3090"};
  line.insert(line.end(), more.begin(), more.end());
  return line;
}

}  // namespace

TEST_CASE("another stack's answer has five memory numbers and says where the peak is") {
  const TemporaryFolder folder;
  const ChildEnd end = plimsoll_in(folder, fit_under({"--stack", "pytorch", "--batch", "4", "--json"}));
  CHECK(end.code == 0);
  const json answer = json::parse(end.out);
  CHECK(answer["stack"] == "pytorch");
  const json memory = answer["memory"][0];
  CHECK(memory["peak_requested_bytes"] <= memory["peak_allocated_bytes"]);
  CHECK(memory["peak_allocated_bytes"] <= memory["peak_reserved_bytes"]);
  CHECK(memory["peak_reserved_bytes"] < memory["peak_process_bytes"]);
  CHECK(memory["peak_process_bytes"] <= memory["peak_device_bytes"]);
  CHECK_FALSE(memory["peak_at"].get<std::string>().empty());
}

TEST_CASE("a model that plimsoll has no kernels for is answered as PyTorch's, which the answer says") {
  const TemporaryFolder folder;
  using Catch::Contains;
  const auto fit_net = [&](Arguments more) {
    more.insert(more.begin(), {"fit", "resnet18", "--on", "RTX 3090"});
    return plimsoll_in(folder, more);
  };
  const ChildEnd silent = fit_net({});
  CHECK(silent.code == 0);
  CHECK_THAT(silent.out, Contains("stack   pytorch") && Contains("--stack pytorch: resnet18 is a convolutional net"));
  const ChildEnd said = fit_net({"--stack", "pytorch"});
  CHECK_THAT(said.out, Contains("stack   pytorch") && !Contains("is a convolutional net"));
  const ChildEnd ours = fit_net({"--stack", "plimsoll"});
  CHECK(ours.code == 2);
  CHECK_THAT(ours.err, Contains("is a convolutional net") && Contains("--stack pytorch"));
  const ChildEnd safe = fit_net({"--durability", "step"});
  CHECK(safe.code == 2);
  CHECK_THAT(safe.err, Contains("--durability"));
}

TEST_CASE("paged states that the GPU has no room for wait in host memory, which is counted and told") {
  const TemporaryFolder folder;
  const Arguments asked{"--stack", "pytorch", "--precision", "bf16", "--seq", "64", "--clip", "0", "--paged-states", "--device-memory", "1200MiB"};
  Arguments told = asked;
  told.emplace_back("--json");
  const ChildEnd end = plimsoll_in(folder, fit_under(told));
  CHECK(end.code == 0);
  const json answer = json::parse(end.out);
  REQUIRE(answer["memory"].size() == 2);
  CHECK(answer["memory"][1]["space"] == "host");
  CHECK_THAT(answer.dump(), Catch::Contains("wait in host memory"));
  Arguments poor = asked;
  poor.insert(poor.end(), {"--ram", "2GiB"});
  CHECK(plimsoll_in(folder, fit_under(poor)).code == 3);
  Arguments unpaged = asked;
  std::erase(unpaged, "--paged-states");
  CHECK(plimsoll_in(folder, fit_under(unpaged)).code == 3);
}

TEST_CASE("what does not fit under another stack ends with 3 and says what is short") {
  const TemporaryFolder folder;
  const ChildEnd end = plimsoll_in(folder, fit_under({"--stack", "pytorch", "--batch", "64"}));
  CHECK(end.code == 3);
  CHECK_THAT(end.out, Catch::Contains("DOES NOT FIT") && Catch::Contains("short by"));
}

namespace {

void refused(const Arguments& more, const std::string& name) {
  const TemporaryFolder folder;
  const ChildEnd end = plimsoll_in(folder, fit_under(more));
  CHECK(end.code == 2);
  CHECK_THAT(end.err, Catch::Contains(name));
}

}  // namespace

TEST_CASE("options of another stack are refused without one, and a stack needs a GPU") {
  refused({"--compile"}, "--compile");
  refused({"--recompute", "full"}, "--recompute");
  refused({"--zero", "3"}, "--zero");
  refused({"--fp8", "delayed"}, "--fp8");
  const TemporaryFolder folder;
  const ChildEnd nowhere = plimsoll_in(folder, {"fit", "gpt2", "--stack", "pytorch"});
  CHECK(nowhere.code == 2);
  CHECK_THAT(nowhere.err, Catch::Contains("--on"));
}

TEST_CASE("trainings on preferences that TRL has not are refused, and options that are theirs alone") {
  refused({"--stack", "pytorch", "--reference", "copy"}, "--workload dpo, kto or grpo");
  refused({"--stack", "pytorch", "--workload", "dpo", "--reference", "adapters-off"}, "no adapters");
  refused({"--stack", "megatron", "--workload", "kto"}, "as TRL trains it");
  refused({"--stack", "pytorch", "--workload", "grpo"}, "--prompt");
  refused({"--stack", "pytorch", "--workload", "grpo", "--rollout", "vllm:1.5"}, "nobody who writes");
  refused({"--stack", "pytorch", "--workload", "dpo", "--rollout", "vllm"}, "--workload grpo");
  refused({"--stack", "pytorch", "--workload", "dpo", "--new-tokens", "8"}, "--new-tokens");
  refused({"--stack", "pytorch", "--prompt", "8"}, "--prompt");
  refused({"--stack", "llm.c", "--workload", "dpo"}, "as TRL trains it");
  refused({"--stack", "pytorch", "--workload", "grpo", "--rollout", "vllm:0.001"}, "weights alone take");
  refused({"--stack", "pytorch", "--workload", "ppo"}, "--workload ppo");
}

TEST_CASE("options of one stack's layers and loops are refused beside another, not ignored") {
  refused({"--stack", "llm.c", "--expandable-segments"}, "--expandable-segments");
  refused({"--stack", "llm.c", "--lengths", "1..1024"}, "--lengths");
  refused({"--stack", "megatron", "--lengths", "1..1024"}, "--lengths");
  refused({"--stack", "llm.c", "--module-loading", "eager"}, "--module-loading");
  for (const char* const option : {"--compile", "--update-in-backward"}) refused({"--stack", "llm.c", option}, option);
  refused({"--stack", "pytorch", "--modules", "nanogpt", "--rotary-tables"}, "--rotary-tables");
  refused({"--stack", "deepspeed", "--autocast", "no"}, "--autocast");
  refused({"--stack", "pytorch", "--precision", "fp32", "--autocast", "yes"}, "--autocast");
  refused({"--stack", "pytorch", "--precision", "bf16-mixed", "--autocast", "no"}, "--autocast");
  refused({"--stack", "pytorch", "--whole-gradients", "no"}, "--whole-gradients");
  refused({"--stack", "pytorch", "--modules", "nanogpt", "--grouped-experts", "yes"}, "--grouped-experts");
  refused({"--stack", "pytorch", "--written-gelu"}, "--written-gelu");
  refused({"--stack", "pytorch", "--modules", "nanogpt", "--half-logits"}, "--half-logits");
  refused({"--stack", "pytorch", "--modules", "nanogpt", "--liger"}, "--liger");
  refused({"--stack", "megatron", "--liger"}, "--liger");
  refused({"--stack", "megatron", "--lora", "8"}, "no adapters");
  refused({"--stack", "pytorch", "--liger"}, "no kernels for the family of gpt2");
  refused({"--stack", "pytorch", "--modules", "unsloth"}, "Unsloth");
  refused({"--stack", "pytorch", "--tiled-mlp"}, "--tiled-mlp");
  refused({"--stack", "pytorch", "--attention", "flash", "--older-sdpa"}, "--older-sdpa");
  refused({"--stack", "megatron", "--older-sdpa"}, "--older-sdpa");
  refused({"--stack", "pytorch", "--attention", "cudnn", "--precision", "fp32"}, "two-byte");
  refused({"--stack", "pytorch", "--packing"}, "--packing");
  refused({"--stack", "pytorch", "--lengths", "64..1024", "--packing", "--attention", "eager"}, "FlashAttention 2 alone");
  refused({"--stack", "pytorch", "--modules", "nanogpt", "--fused-head"}, "TRL's fused head");
  refused({"--stack", "pytorch", "--fused-head", "--loss-chunks", "2"}, "chunks of the loss");
  refused({"--stack", "megatron", "--logits", "held"}, "--logits");
  refused({"--stack", "pytorch", "--loss-chunks", "2", "--logits", "freed"}, "--logits");
  refused({"--stack", "llm.c", "--fp8", "delayed"}, "--fp8");
  refused({"--stack", "pytorch", "--fp8-params"}, "--fp8-params");
  refused({"--stack", "pytorch", "--fp8-wide-ends", "1"}, "--fp8-wide-ends");
  refused({"--stack", "pytorch", "--fp8", "sometimes"}, "sometimes");
}

TEST_CASE("options of one stack's ranks, plans and names are refused beside another, not ignored") {
  refused({"--stack", "pytorch", "--strategy", "stream"}, "stream");
  refused({"--stack", "tensorflow"}, "tensorflow");
  refused({"--stack", "pytorch", "--recompute", "every:0"}, "every:0");
  refused({"--stack", "llm.c", "--lora", "8"}, "llm.c");
  refused({"--stack", "pytorch", "--micro-batch", "4"}, "--micro-batch");
  refused({"--stack", "megatron", "--ep", "2"}, "--ep");
  refused({"--stack", "pytorch", "--ep", "2"}, "--ep");
  refused({"--stack", "deepspeed", "--etp", "2"}, "--etp");
  refused({"--stack", "pytorch", "--expert-dispatch", "allgather"}, "--expert-dispatch");
  refused({"--stack", "megatron", "--chunks", "2"}, "--chunks");
  refused({"--stack", "megatron", "--sequence-parallel"}, "--sequence-parallel");
  refused({"--stack", "pytorch", "--reduce-bucket", "1000"}, "--reduce-bucket");
  refused({"--stack", "deepspeed", "--no-overlap-comm"}, "--no-overlap-comm");
  refused({"--stack", "pytorch", "--zenflow-every", "8"}, "--zenflow-every");
  refused({"--stack", "deepspeed", "--zero", "3", "--cp", "2", "--context", "ring"}, "--context");
  refused({"--stack", "pytorch", "--cp", "2"}, "deepspeed's ZeRO-3");
  refused({"--stack", "pytorch", "--zero", "3", "--cp", "2", "--context", "ulysses"}, "--context");
  refused({"--stack", "llm.c", "--cp", "2"}, "llm.c");
  refused({"--stack", "pytorch", "--save-strategy", "s.json"}, "--save-strategy");
  refused({"--stack", "pytorch", "--calibration", "samples.csv"}, "--calibration");
}

TEST_CASE("a bucket of DeepSpeed may be what Hugging Face's trainers make of auto") {
  const TemporaryFolder folder;
  const auto told = [&](const std::string& bucket) {
    return plimsoll_in(folder, {"fit", "gpt2", "--on", "A100 80GB", "--stack", "deepspeed", "--zero", "3", "--dp", "4", "--reduce-bucket", bucket, "--json"}).out;
  };
  CHECK(told("auto") == told("589824"));  // 768²
  CHECK(told("auto") != told("500000000"));
}

TEST_CASE("Unsloth's blocks wait in host memory unless somebody says how they are recomputed") {
  const TemporaryFolder folder;
  using Catch::Contains;
  const auto told = [&](Arguments more) {
    Arguments all{"fit", "llama-3.2-1b", "--on", "RTX 4090", "--stack", "pytorch", "--modules", "unsloth", "--lora", "16", "--base-bits", "4"};
    all.insert(all.end(), more.begin(), more.end());
    return plimsoll_in(folder, all).out;
  };
  CHECK_THAT(told({}), Contains("full recomputation, checkpoints wait on the cpu"));
  CHECK_THAT(told({"--recompute", "full"}), Contains("full recomputation") && !Contains("wait on the cpu"));
  CHECK_THAT(told({"--recompute", "none"}), !Contains("recomputation"));
}

TEST_CASE("kernels that are loaded at the start take memory of the process alone") {
  const TemporaryFolder folder;
  const auto memory = [&](const char* loading) {
    const auto line = fit_under({"--stack", "pytorch", "--module-loading", loading, "--json"});
    return json::parse(plimsoll_in(folder, line).out)["memory"][0];
  };
  const json lazy = memory("lazy"), eager = memory("eager");
  CHECK(lazy["peak_reserved_bytes"] == eager["peak_reserved_bytes"]);
  CHECK(lazy["peak_process_bytes"] < eager["peak_process_bytes"]);
}

TEST_CASE("another stack's plan is simulated, shown and exported, and never run") {
  using Catch::Contains;
  const TemporaryFolder folder;
  const Arguments what{kTinyModel, "--on", "RTX 3090", "--stack", "pytorch", "--batch", "2"};
  Arguments plan{"plan", "-o", "other.json", "--timeline", "other.plimsoll", "--json"}, fit{"fit", "--json"};
  plan.insert(plan.end(), what.begin(), what.end());
  fit.insert(fit.end(), what.begin(), what.end());
  const ChildEnd planned = plimsoll_in(folder, plan);
  REQUIRE(planned.code == 0);
  const json expected = json::parse(plimsoll_in(folder, fit).out);
  const json simulated = json::parse(plimsoll_in(folder, {"simulate", "other.json", "--json"}).out);
  for (const char* key : {"peak_requested_bytes", "peak_allocated_bytes", "peak_reserved_bytes", "peak_process_bytes"}) {
    CHECK(simulated["memory"][0][key] == expected["memory"][0][key]);
  }
  CHECK(simulated["step_seconds"].get<double>() == Approx(expected["step_seconds"].get<double>()).epsilon(1e-6));
  CHECK_THAT(plimsoll_in(folder, {"show", "other.json", "--instructions"}).out, Contains("allocate") && Contains("free"));
  REQUIRE(plimsoll_in(folder, {"export", "other.plimsoll", "--chrome", "trace.json"}).code == 0);
  const std::string chrome = read_whole(folder.file("trace.json"));
  CHECK_THAT(chrome, Contains("\"allocate\"") && Contains("\"reserved\"") && Contains("\"activations\""));
  const ChildEnd run = plimsoll_in(folder, {"run", "other.json", "--data", kText, "--steps", "1"});
  CHECK(run.code == 2);
  CHECK_THAT(run.err, Contains("allocates while it runs"));
}

TEST_CASE("offloading that a stack does not know is refused by name") {
  using Catch::Contains;
  const TemporaryFolder folder;
  const auto refused = [&](const Arguments& more, const std::string& name) {
    const ChildEnd end = plimsoll_in(folder, fit_under(more));
    CHECK(end.code == 2);
    CHECK_THAT(end.err, Contains(name));
  };
  refused({"--offload", "optimizer:cpu"}, "--offload");
  refused({"--stack", "deepspeed", "--offload", "optimizer:cpu"}, "--zero");
  refused({"--stack", "deepspeed", "--zero", "2", "--offload", "params:cpu"}, "ZeRO-3");
  refused({"--stack", "colossalai", "--offload", "optimizer:ssd"}, "host memory");
  refused({"--stack", "pytorch", "--offload", "optimizer:cpu"}, "FSDP");
  refused({"--stack", "deepspeed", "--zero", "2", "--offload", "optimizer"}, "KIND:PLACE");
  refused({"--stack", "pytorch", "--placement", "auto"}, "Gemini");
  refused({"--stack", "pytorch", "--zenflow", "0.1"}, "ZenFlow");
  const ChildEnd small = plimsoll_in(folder, fit_under({"--stack", "deepspeed", "--zero", "2", "--offload", "optimizer:cpu", "--ram", "2GiB"}));
  CHECK(small.code == 3);
  CHECK_THAT(small.out, Contains("host memory"));
}

TEST_CASE("the ranks of a node share its host memory") {
  using Catch::Contains;
  const TemporaryFolder folder;
  const auto fit_with = [&](const char* ranks, const char* ram, const Arguments& more = {}) {
    Arguments line{"--stack", "deepspeed", "--zero", "2", "--offload", "optimizer:cpu", "--dp", ranks, "--ram", ram};
    line.insert(line.end(), more.begin(), more.end());
    return plimsoll_in(folder, fit_under(line));
  };
  CHECK(fit_with("1", "8GiB").code == 0);
  const ChildEnd four = fit_with("4", "8GiB");
  CHECK(four.code == 3);
  CHECK_THAT(four.out, Contains("1.50 GiB usable for each of the 4 ranks of a node"));
  CHECK(fit_with("4", "32GiB").code == 0);
  CHECK(fit_with("4", "8GiB", {"--nodes", "4", "--network", "25GB/s"}).code == 0);
}

TEST_CASE("a GPU that the catalogue does not have is stated by its figures, and its answer is extrapolated") {
  using Catch::Contains;
  const TemporaryFolder folder;
  const auto fit_on = [&](const std::string& gpu, const Arguments& more = {}) {
    write_file(folder.file("desk.json"), R"({"format_version": 1, "name": "desk", "parts": {"gpus": [)" + gpu + "]}}");
    Arguments line{"fit", "gpt2", "--machine", "desk.json", "--json"};
    line.insert(line.end(), more.begin(), more.end());
    return plimsoll_in(folder, line);
  };
  const std::string own = R"({"name": "Prototype X", "memory": "20GiB", "bytes_per_second": 8e11, "multiprocessors": 60, "tflops": )"
                          R"({"fp32": 30, "tf32": 60, "fp16": 120, "bf16": 120}})";
  for (const Arguments& more : {Arguments{}, Arguments{"--stack", "pytorch"}}) {
    const ChildEnd end = fit_on(own, more);
    INFO(end.err);
    CHECK(end.code == 0);
    const json answer = json::parse(end.out);
    CHECK(answer["calibration"]["kind"] == "extrapolated");
    CHECK(answer["memory"][0]["capacity_bytes"] == 20ll << 30);
  }
  const auto refused = [&](const std::string& gpu, const std::string& what) {
    const ChildEnd end = fit_on(gpu);
    CHECK(end.code == 2);
    CHECK_THAT(end.err, Contains(what));
  };
  refused(R"({"name": "Prototype X", "memory": "20GiB"})", "bytes_per_second");
  refused(R"({"name": "Prototype X", "memory": "20GiB", "bytes_per_second": 8e11, "multiprocessors": 60})", "tflops.fp32");
  refused(R"({"name": "RTX 3090", "memory": "20GiB"})", "in the catalogue");
  refused(R"({"name": "Prototype X", "memory": "20GiB", "tflops": {"bf16": 3}})", "without \"fp16\"");
  refused(R"({"name": "Prototype X", "memory": "20GiB", "tflops": {"fp16": 90, "bf16": 90}, "compute_capability": "7.5"})", "8.0");
  refused(R"({"name": "Prototype X", "memory": "20GiB", "tflops": {"fp16": 30, "tf32": 90}})", "sparsity");
}

TEST_CASE("a base of 4 bits is prepared as PEFT has it unless somebody says otherwise or FSDP shares it, and the answer says which") {
  const TemporaryFolder folder;
  using Catch::Contains;
  const auto fitted = [&](Arguments more) {
    const Arguments line{"fit", "llama:layers=4,hidden=512,heads=8,ffn=1024,vocab=1000", "--on", "RTX 3090", "--stack", "pytorch", "--lora",
                         "8", "--base-bits", "4", "--recompute", "full", "--seq", "1024", "--precision", "bf16-mixed"};
    more.insert(more.begin(), line.begin(), line.end());
    return plimsoll_in(folder, more);
  };
  const auto memory = [&](Arguments more) {
    more.push_back("--json");
    return json::parse(fitted(more).out)["memory"][0];
  };
  CHECK(memory({}) == memory({"--kbit-preparation", "yes"}));
  CHECK(memory({})["peak_requested_bytes"] > memory({"--kbit-preparation", "no"})["peak_requested_bytes"]);
  CHECK_THAT(fitted({}).out, Contains("the base is prepared by PEFT"));
  CHECK_THAT(fitted({"--kbit-preparation", "no"}).out, Contains("the base is not prepared by PEFT"));
  CHECK_THAT(fitted({"--dp", "2", "--zero", "3"}).out, Contains("the base is not prepared by PEFT"));
  const ChildEnd shared = plimsoll_in(folder, fit_under({"--stack", "pytorch", "--dp", "2", "--zero", "3", "--kbit-preparation", "yes"}));
  CHECK_THAT(shared.err, Contains("--kbit-preparation would be ignored") && Contains("FSDP"));
  const auto inside = plimsoll_in(folder, {"fit", "gpt2", "--on", "RTX 3090", "--stack", "pytorch", "--logits", "inside"});
  CHECK(inside.code == 2);
  CHECK_THAT(inside.err, Contains("--logits would be ignored") && Contains("--compile --modules nanogpt"));
  CHECK_THAT(plimsoll_in(folder, fit_under({"--stack", "pytorch", "--kbit-preparation", "no"})).err, Contains("4 or 8 bits"));
  CHECK(memory({"--double-quant", "no"})["by_category"]["parameters"] > memory({})["by_category"]["parameters"]);
  CHECK(memory({"--double-quant", "yes"}) == memory({}));
  CHECK_THAT(plimsoll_in(folder, fit_under({"--stack", "pytorch", "--double-quant", "no"})).err, Contains("4 bits"));
}

TEST_CASE("PEFT's preparation turns checkpoints on where nobody says otherwise") {
  const TemporaryFolder folder;
  using Catch::Contains;
  const auto setup = [&](const Arguments& more) {
    Arguments line{"fit", "llama:layers=4,hidden=512,heads=8,ffn=1024,vocab=1000", "--on", "RTX 3090", "--stack", "pytorch", "--lora", "8", "--json"};
    line.insert(line.end(), more.begin(), more.end());
    return json::parse(plimsoll_in(folder, line).out)["strategy"]["setup"].get<std::string>();
  };
  CHECK_THAT(setup({"--base-bits", "4"}), Contains("full recomputation"));
  CHECK_THAT(setup({"--base-bits", "8"}), Contains("full recomputation"));
  CHECK_THAT(setup({"--base-bits", "4", "--recompute", "none"}), !Contains("recomputation"));
  CHECK_THAT(setup({"--base-bits", "4", "--kbit-preparation", "no"}), !Contains("recomputation"));
  CHECK_THAT(setup({}), !Contains("recomputation"));
}

TEST_CASE("dropout of what adapters read takes memory under another stack, and ours refuses it") {
  const TemporaryFolder folder;
  const auto requested = [&](const std::string& share) {
    const ChildEnd end = plimsoll_in(folder, fit_under({"--stack", "pytorch", "--lora", "8", "--lora-dropout", share, "--json"}));
    return json::parse(end.out)["memory"][0]["peak_requested_bytes"].get<std::int64_t>();
  };
  CHECK(requested("0.1") > requested("0"));
  CHECK_THAT(plimsoll_in(folder, fit_under({"--lora", "8", "--lora-dropout", "0.1"})).err, Catch::Contains("add --stack pytorch"));
}

TEST_CASE("rotary positions go on under another stack and learnt ones end; queries, keys and values in one matrix are one target") {
  const TemporaryFolder folder;
  using Catch::Contains;
  const ChildEnd longer = plimsoll_in(folder, {"fit", "yi-6b", "--on", "H200", "--stack", "pytorch", "--lora", "8", "--seq", "8192"});
  CHECK_THAT(longer.out, Contains("was made for 4096 positions, fewer than the 8192 tokens"));
  CHECK_THAT(plimsoll_in(folder, fit_under({"--stack", "pytorch", "--seq", "2048"})).err, Contains("beyond the 1024 positions"));
  CHECK_THAT(plimsoll_in(folder, {"fit", "yi-6b", "--on", "H200", "--seq", "8192"}).err, Contains("beyond the 4096 positions"));
  const ChildEnd one = plimsoll_in(folder, fit_under({"--lora", "8:q,k,v"}));
  CHECK_THAT(one.out, Contains("beside qkv:") && Contains("one adapter stands beside qkv, not three"));
  CHECK_THAT(plimsoll_in(folder, fit_under({"--lora", "8:q,k"})).err, Contains("no matrix 'q'"));
}

TEST_CASE("maps stored pixel by pixel are told faster, and models of tokens have none") {
  const TemporaryFolder folder;
  const auto seconds = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"fit", "resnet18", "--on", "RTX 3090", "--stack", "pytorch", "--precision", "fp16-mixed", "--batch", "128", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const ChildEnd end = plimsoll_in(folder, words);
    INFO(end.err);
    REQUIRE(end.code == 0);
    return json::parse(end.out)["step_seconds"].get<double>();
  };
  CHECK(seconds({"--channels-last"}) < 0.8 * seconds({}));
  CHECK_THAT(plimsoll_in(folder, fit_under({"--channels-last"})).err, Catch::Contains("--channels-last"));
}

TEST_CASE("images of another size are larger, and models of tokens have none") {
  const TemporaryFolder folder;
  using Catch::Contains;
  for (const std::string model : {"resnet18", "vgg11", "densenet121", "vit-b-16"}) {
    const auto requested = [&](const std::string& side) {
      const ChildEnd end = plimsoll_in(folder, {"fit", model, "--on", "RTX 3090", "--stack", "pytorch", "--batch", "32", "--image", side, "--json"});
      INFO(model << end.err);
      REQUIRE(end.code == 0);
      return json::parse(end.out)["memory"][0]["peak_requested_bytes"].get<std::int64_t>();
    };
    CHECK(requested("288") > requested("224"));
  }
  CHECK_THAT(plimsoll_in(folder, {"fit", "vit-b-16", "--on", "RTX 3090", "--image", "230"}).err, Contains("cannot be cut into patches"));
  CHECK_THAT(plimsoll_in(folder, fit_under({"--image", "288"})).err, Contains("the model reads tokens"));
}

}  // namespace plimsoll::test
