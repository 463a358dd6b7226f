#include <catch2/catch.hpp>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace plimsoll::test {
namespace {

using Catch::Contains;
using nlohmann::json;

const Arguments kTraining{"gpt2", "--on", "RTX 3090", "--ram", "64GiB", "--ssd", "1TB"};

ChildEnd export_of(const TemporaryFolder& folder, const Arguments& more, const Arguments& what = kTraining) {
  Arguments line{"export"};
  line.insert(line.end(), what.begin(), what.end());
  line.insert(line.end(), more.begin(), more.end());
  return plimsoll_in(folder, line);
}

json fit_of(const TemporaryFolder& folder, const Arguments& more) {
  Arguments line{"fit"};
  line.insert(line.end(), kTraining.begin(), kTraining.end());
  line.insert(line.end(), {"--stack", "deepspeed", "--json"});
  line.insert(line.end(), more.begin(), more.end());
  const ChildEnd end = plimsoll_in(folder, line);
  INFO(end.err);
  REQUIRE(end.code == 0);
  return json::parse(end.out);
}

}  // namespace

TEST_CASE("a DeepSpeed configuration that was exported foretells what its options did") {
  const TemporaryFolder folder;
  const Arguments options{"--zero",       "2", "--offload",   "optimizer:cpu", "--recompute", "full", "--batch", "4",
                          "--accumulate", "2", "--precision", "bf16-mixed",    "--clip",      "0.5"};
  Arguments asked{"--stack", "deepspeed", "--to", "deepspeed", "-o", "ds.json"};
  asked.insert(asked.end(), options.begin(), options.end());
  const ChildEnd end = export_of(folder, asked);
  INFO(end.err);
  REQUIRE(end.code == 0);
  json said = fit_of(folder, options), read = fit_of(folder, {"--strategy", "ds.json"});
  CHECK(said["step_seconds"] == read["step_seconds"]);
  CHECK(said["memory"] == read["memory"]);
}

TEST_CASE("learning rates that end are exported with the step at which they do") {
  const TemporaryFolder folder;
  const Arguments rates{"--to", "megatron", "--schedule", "cosine", "--warmup", "10"};
  CHECK_THAT(export_of(folder, rates).err, Contains("add --steps N"));
  Arguments ended = rates;
  ended.insert(ended.end(), {"--steps", "100"});
  const ChildEnd end = export_of(folder, ended);
  INFO(end.err);
  CHECK(end.code == 0);
  CHECK_THAT(end.out, Contains("--lr-decay-style cosine") && Contains("--lr-warmup-iters 10") && Contains("--train-iters 100"));
}

TEST_CASE("a published system's name under its own stack means its own software's choices") {
  const TemporaryFolder folder;
  const json named = fit_of(folder, {"--strategy", "zero-offload"});
  const json told = fit_of(folder, {"--zero", "2", "--offload", "optimizer:cpu", "--recompute", "full"});
  CHECK(named["step_seconds"] == told["step_seconds"]);
  const ChildEnd stranger = export_of(folder, {"--stack", "deepspeed", "--strategy", "gemini", "--to", "deepspeed"});
  CHECK(stranger.code == 2);
  CHECK_THAT(stranger.err, Contains("zero-infinity"));
}

TEST_CASE("export says what is missing, wrong or ignored, and writes nothing then") {
  const TemporaryFolder folder;
  const auto refused = [&](const Arguments& more, const std::string& says) {
    const ChildEnd end = export_of(folder, more);
    INFO(end.err);
    CHECK(end.code == 2);
    CHECK_THAT(end.err, Contains(says));
  };
  refused({}, "--to");
  refused({"--to", "keras"}, "torchtitan");
  refused({"--to", "deepspeed", "--chrome", "x.json"}, "--to");
  refused({"--to", "deepspeed", "--strategy", "all"}, "all");
  refused({"--to", "torchtitan", "--strategy", "zero-infinity"}, "SSD");
  refused({"--to", "megatron", "--stack", "deepspeed"}, "--stack megatron");
  refused({"--to", "deepspeed", "--stack", "deepspeed", "--strategy", "zero-offload", "--zero", "3"}, "--zero");
  CHECK(files_in(folder).empty());
  write_file(folder.file("mine.yaml"), "precious: true\n");
  refused({"--to", "accelerate", "-o", "mine.yaml"}, "not replaced");
  CHECK(read_whole(folder.file("mine.yaml")) == "precious: true\n");
}

TEST_CASE("a configuration that says otherwise than an option is refused, not overruled") {
  const TemporaryFolder folder;
  write_file(folder.file("ds.json"), R"({"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 2}})");
  const ChildEnd end = plimsoll_in(
      folder, {"fit", "gpt2", "--on", "RTX 3090", "--stack", "deepspeed", "--strategy", "ds.json", "--batch", "2"});
  CHECK(end.code == 2);
  CHECK_THAT(end.err, Contains("--batch") && Contains("ds.json"));
}

TEST_CASE("a plan file, a run file and a model export alike, and the script lies beside") {
  const TemporaryFolder folder;
  const Arguments machine{"--on",       "RTX 3090",     "--ram",       "64GiB",
                          "--strategy", "zero-offload", "--precision", "bf16-mixed"};
  Arguments line{"plan", kTinyModel, "-o", "plan.json", "--timeline", "run.plimsoll"};
  line.insert(line.end(), machine.begin(), machine.end());
  REQUIRE(plimsoll_in(folder, line).code == 0);
  REQUIRE(export_of(folder, {"--to", "fsdp2", "-o", "a.json"}, {"plan.json"}).code == 0);
  REQUIRE(export_of(folder, {"--to", "fsdp2", "-o", "b.json"}, {"run.plimsoll"}).code == 0);
  Arguments third{"--to", "fsdp2", "-o", "c.json"};
  third.insert(third.end(), machine.begin(), machine.end());
  REQUIRE(export_of(folder, third, {kTinyModel}).code == 0);
  CHECK(read_whole(folder.file("a.json")) == read_whole(folder.file("b.json")));
  json model = json::parse(read_whole(folder.file("c.json"))), plan = json::parse(read_whole(folder.file("a.json")));
  model.erase("foretold");
  plan.erase("foretold");
  CHECK(model == plan);
  CHECK_THAT(read_whole(folder.file("a.py")), Contains("def apply_policy"));
  const ChildEnd fixed = export_of(folder, {"--to", "fsdp2", "--batch", "4"}, {"plan.json"});
  CHECK(fixed.code == 2);
  CHECK_THAT(fixed.err, Contains("--batch"));
}

TEST_CASE("traces of a run export to every format, and what we wrote we read") {
  const TemporaryFolder folder;
  REQUIRE(plimsoll_in(folder, {"plan", kTinyModel, "--on", "RTX 3090", "--ram", "64GiB", "--strategy", "zero-offload",
                               "-o", "plan.json", "--timeline", "run.plimsoll"})
              .code == 0);
  const ChildEnd end = plimsoll_in(folder, {"export", "run.plimsoll", "--chrome", "trace.json", "--perfetto",
                                            "trace.pftrace", "--csv", "trace.csv", "--nsight", "nsight.plimsoll"});
  INFO(end.err);
  REQUIRE(end.code == 0);
  for (const char* file : {"trace.json", "nsight.plimsoll"}) {
    const ChildEnd replayed = plimsoll_in(folder, {"replay", file, "--json"});
    INFO(file << ": " << replayed.err);
    REQUIRE(replayed.code == 0);
    const json answer = json::parse(replayed.out);
    CHECK(std::abs(answer["error"].get<double>()) < 0.01);
    CHECK(answer["stream_waits"]["recorded"] > 0);
  }
  CHECK(plimsoll_in(folder, {"import", "trace.json", "-o", "imported.plimsoll"}).code == 0);
  CHECK(plimsoll_in(folder, {"export", "run.plimsoll", "--nsight", "run.plimsoll"}).code == 2);
}

}  // namespace plimsoll::test
