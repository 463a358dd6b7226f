#include <catch2/catch.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

using namespace plimsoll::test;
using nlohmann::json;

namespace {

const std::string kModel = "gpt:layers=8,hidden=1024,heads=16,vocab=32768,positions=1024";

Arguments layout(const std::string& command, const Arguments& more) {
  Arguments all{command, kModel, "--on", "A100 80GB", "--gpus", "16", "--seq", "1024"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace

TEST_CASE("simulate times a layout of many devices, with all ranks of the pipeline") {
  const plimsoll::TemporaryFolder folder;
  const auto end = plimsoll_in(folder, layout("simulate", {"--tp", "2", "--pp", "4", "--schedule", "interleaved",
                                                           "--chunks", "2", "--global-batch", "32", "--json"}));
  REQUIRE(end.code == 0);
  const json answer = json::parse(end.out);
  CHECK(answer["verdict"] == "fits");
  CHECK(answer["gpus"] == 16);
  CHECK(answer["ranks"].size() == 4);
  CHECK(answer["parallel"]["dp"] == 2);
  CHECK(answer["parallel"]["simulation"] == "folded");
  const double step = answer["step_seconds"].get<double>();
  CHECK(answer["step_seconds_low"].get<double>() < step);
  CHECK(answer["step_seconds_high"].get<double>() > step);
  CHECK(answer["memory"][0]["space"] == "gpu0");
  const auto text = plimsoll_in(folder, layout("simulate", {"--tp", "2", "--pp", "4", "--global-batch", "32"}));
  CHECK(text.code == 0);
  CHECK(text.out.find("folded: 4 of 16 ranks simulated") != std::string::npos);
}

TEST_CASE("a layout that cannot be is refused by the option that is to blame") {
  const plimsoll::TemporaryFolder folder;
  const std::pair<Arguments, const char*> cases[] = {{{"--tp", "3"}, "--tp"},
                                                     {{"--pp", "3"}, "--pp"},
                                                     {{"--dp", "4"}, "--gpus"},
                                                     {{"--global-batch", "17"}, "--global-batch"},
                                                     {{"--nodes", "3"}, "--nodes"},
                                                     {{"--network", "fast"}, "--network"},
                                                     {{"--slow-rank", "99=2"}, "--slow-rank"},
                                                     {{"--slow-rank", "two"}, "--slow-rank"},
                                                     {{"--recompute", "some"}, "--recompute"},
                                                     {{"--schedule", "1f2b", "--pp", "2"}, "1f1b"},
                                                     {{"--schedule", "cosine"}, "--schedule: no schedule is named 'cosine'"},
                                                     {{"--ram", "1GiB"}, ""}};
  for (const auto& [options, named] : cases) {
    CAPTURE(options);
    const auto end = plimsoll_in(folder, layout("simulate", options));
    CHECK(end.code == 2);
    CHECK(end.err.find(named) != std::string::npos);
  }
  const auto joined = plimsoll_in(folder, {"simulate", kModel, "--on", "RTX 4090", "--gpus", "16"});
  CHECK(joined.code == 2);
  CHECK(joined.err.find("--network") != std::string::npos);
}

TEST_CASE("fit looks for a layout of several GPUs and keeps to what is said") {
  const plimsoll::TemporaryFolder folder;
  const auto end = plimsoll_in(folder, layout("fit", {"--global-batch", "64", "--pp", "2", "--json"}));
  REQUIRE(end.code == 0);
  const json answer = json::parse(end.out);
  CHECK(answer["parallel"]["pp"] == 2);
  CHECK(answer["search"]["tried"].get<int>() > 10);
  CHECK(answer["alternatives"].size() >= 1);
  CHECK(plimsoll_in(folder, layout("fit", {"--strategy", "zero-offload"})).code == 2);
}

TEST_CASE("the whole training by a layout of many GPUs is billed as it is on one") {
  const plimsoll::TemporaryFolder folder;
  const Arguments asked{"--global-batch", "64", "--tokens", "10B", "--price", "2", "--prepare", "none"};
  Arguments in_json = asked;
  in_json.push_back("--json");
  const json answer = json::parse(plimsoll_in(folder, layout("fit", in_json)).out);
  const double seconds = answer["training"]["seconds"].get<double>();
  const double steps = 10e9 / answer["tokens_per_second"].get<double>();
  CHECK(seconds > steps);
  CHECK(seconds < 1.05 * steps);  // and its checkpoints
  CHECK(answer["training"]["cost"].get<double>() == Approx(2 * 16 * seconds / 3600));
  const auto text = plimsoll_in(folder, layout("fit", asked));
  CHECK_THAT(text.out, Catch::Contains("training 10 B tokens in"));
  CHECK_THAT(text.out, Catch::Contains("layouts tried"));
}

TEST_CASE("options that a layout of several GPUs would ignore are refused, and what a system keeps is not the GPU's") {
  const plimsoll::TemporaryFolder folder;
  const auto refused = [&](const std::string& command, const Arguments& more, const std::string& name) {
    const auto end = plimsoll_in(folder, layout(command, more));
    CHECK(end.code == 2);
    CHECK_THAT(end.err, Catch::Contains(name));
  };
  refused("fit", {"--compile"}, "--compile");
  refused("fit", {"--zenflow", "0.1"}, "--zenflow");
  refused("fit", {"--prompt", "3"}, "--prompt");
  refused("fit", {"--price", "2"}, "--price");
  refused("fit", {"--prices", "prices.csv"}, "--prices");
  refused("fit", {"--all-changes"}, "--all-changes");
  refused("fit", {"--context", "ulysses"}, "--context");
  refused("fit", {"--imbalance", "2"}, "--imbalance");
  for (const char* option : {"--network", "--schedule", "--nodes", "--micro-batch"}) {
    const auto alone = plimsoll_in(
        folder, {"fit", "gpt2", "--on", "RTX 4090", option, option == std::string("--schedule") ? "1f1b" : "2"});
    CHECK(alone.code == 2);
    CHECK_THAT(alone.err,
               Catch::Contains(std::string(option) + ": it is of a training on several GPUs, and there is one"));
  }
  refused("sweep", {"--pp", "2", "--vary", "pp=1,2"}, "--pp");
  const auto room = [&](const Arguments& more) {
    Arguments line{"fit", kModel, "--on", "RTX 3090", "--gpus", "2", "--json"};
    line.insert(line.end(), more.begin(), more.end());
    return json::parse(plimsoll_in(folder, line).out)["memory"][0]["usable_bytes"].get<std::int64_t>();
  };
  CHECK(room({"--desktop"}) < room({}));
  CHECK(room({"--os", "windows"}) < room({}));
}

TEST_CASE("another stack has nodes and a network as layouts have them, and says what it took") {
  const plimsoll::TemporaryFolder folder;
  const auto told = [&](const Arguments& more) {
    Arguments line{"fit", kModel, "--on", "A100 80GB", "--stack", "pytorch", "--zero", "3", "--dp", "64"};
    line.insert(line.end(), more.begin(), more.end());
    return plimsoll_in(folder, line);
  };
  const auto step = [&](Arguments more) {
    more.push_back("--json");
    return json::parse(told(more).out)["step_seconds"].get<double>();
  };
  const auto assumed = told({});
  CHECK_THAT(assumed.out, Catch::Contains("nodes of 8 GPUs assumed"));
  CHECK_THAT(assumed.out, Catch::Contains("network of 25 GB/s a GPU assumed"));
  CHECK_THAT(told({"--network", "8x200Gb/s"}).out, Catch::Contains("network 8x200Gb/s as stated"));
  CHECK(step({}) == Approx(step({"--nodes", "8", "--network", "25GB/s"})));
  CHECK(step({"--network", "2GB/s"}) > step({}));
  CHECK(step({"--nodes", "1"}) < step({}));
  CHECK(told({"--nodes", "7"}).code == 2);
}

TEST_CASE("gradients that are reduced in bf16 take half the bytes and are sent sooner") {
  const plimsoll::TemporaryFolder folder;
  const auto told = [&](const char* type) {
    const Arguments line = layout("simulate", {"--zero", "1", "--precision", "bf16-mixed", "--global-batch", "16",
                                               "--reduce-in", type, "--json"});
    return json::parse(plimsoll_in(folder, line).out);
  };
  const json wide = told("fp32"), half = told("bf16");
  const auto gradients = [](const json& answer) { return answer["memory"][0]["by_category"]["gradients"].get<double>(); };
  CHECK(gradients(half) == Approx(gradients(wide) / 2));
  CHECK(half["step_seconds"].get<double>() < wide["step_seconds"].get<double>());
  const auto refused = plimsoll_in(folder, layout("simulate", {"--precision", "fp16-mixed", "--reduce-in", "bf16"}));
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, Catch::Contains("--reduce-in"));
}

TEST_CASE("what is sent beside products shortens a step, and what nothing is sent beside lengthens it") {
  const plimsoll::TemporaryFolder folder;
  const auto step = [&](Arguments more) {
    for (const char* word : {"--tp", "4", "--sequence-parallel", "--global-batch", "16", "--json"}) more.emplace_back(word);
    return json::parse(plimsoll_in(folder, layout("simulate", more)).out)["step_seconds"].get<double>();
  };
  CHECK(step({"--tp-comm-overlap"}) < step({}));
  CHECK(step({"--no-overlap-comm"}) > step({}));
  CHECK(step({"--no-overlap-comm"}) > step({"--gradients-at-end"}));
  const auto refused = plimsoll_in(folder, layout("simulate", {"--tp", "4", "--global-batch", "16", "--tp-comm-overlap"}));
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, Catch::Contains("--tp-comm-overlap"));
}

TEST_CASE("a search neither divides rows nor interleaves stages where it is told not to, as simulate does not") {
  const plimsoll::TemporaryFolder folder;
  const auto told = [&](const char* command, const Arguments& more) {
    return json::parse(plimsoll_in(folder, layout(command, more)).out);
  };
  const Arguments no{"--tp", "2", "--pp", "2", "--global-batch", "64", "--no-sequence-parallel", "--chunks", "1", "--schedule",
                     "1f1b", "--micro-batch", "1", "--zero", "1", "--recompute", "none", "--json"};
  const json found = told("fit", no), said = told("simulate", no);
  CHECK_FALSE(found["parallel"]["sequence_parallel"].get<bool>());
  CHECK(found["parallel"]["chunks"] == 1);
  CHECK(found["step_seconds"] == said["step_seconds"]);
  const json open = told("fit", {"--tp", "2", "--pp", "2", "--global-batch", "64", "--json"});
  CHECK(open["parallel"]["sequence_parallel"].get<bool>());
}

TEST_CASE("sweep writes one line a layout, the same every time") {
  const plimsoll::TemporaryFolder folder;
  const Arguments asked = layout("sweep", {"--global-batch", "64", "--vary", "pp=1,2,3", "--vary", "micro-batch=1..2"});
  const auto first = plimsoll_in(folder, asked), second = plimsoll_in(folder, asked);
  REQUIRE(first.code == 0);
  CHECK(first.out == second.out);
  CHECK(std::count(first.out.begin(), first.out.end(), '\n') == 7);
  CHECK(first.out.find("dp,tp,pp,cp,ep,zero") == 0);
  CHECK(first.out.find("8 layers do not divide") != std::string::npos);
  CHECK(plimsoll_in(folder, layout("sweep", {"--vary", "colour=1"})).code == 2);
}

TEST_CASE("validate --metric parallel says families and machines") {
  const plimsoll::TemporaryFolder folder;
  const auto end = plimsoll_in(folder, {"validate", "--metric", "parallel", "--json"});
  REQUIRE(end.code == 0);
  CHECK(json::parse(end.out)["families"].size() >= 4);
}
