// An encoder with a decoder from the command line.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "tests/cli/answer_of_run.h"
#include "tests/cli/program.h"

namespace plimsoll::test {
namespace {

using Catch::Contains;
using nlohmann::json;

const std::string kTinyT5 = "t5:layers=2,hidden=32,heads=4,head_dim=8,ffn=48,vocab=256,positions=32";

Arguments run_of(const std::string& steps, const Arguments& more = {}) {
  Arguments line{"run", kTinyT5, "--data", kText,    "--steps", steps, "--seq",        "16",      "--batch",
                 "2",   "--lr",  "0.01",   "--seed", "7",       "-o",  "run.plimsoll", "--force", "--json",
                 "--matmul", "openblas"};  // the faster one, by measuring, may be another in each run
  line.insert(line.end(), more.begin(), more.end());
  return line;
}

}  // namespace

TEST_CASE("fit, plan and largest answer for T5's encoder and decoder with plans of our own") {
  const TemporaryFolder folder;
  const ChildEnd fit = plimsoll_in(folder, {"fit", "t5-small", "--on", "RTX 3090", "--json"});
  REQUIRE(fit.code == 0);
  const json answer = json::parse(fit.out);
  CHECK(answer["stack"] == "plimsoll");
  CHECK(answer["model"]["parameters"] == 60506624);
  const ChildEnd planned = plimsoll_in(folder, {"plan", "t5-small", "--on", "RTX 3090", "-o", "t5.json", "--json"});
  INFO(planned.err);
  REQUIRE(planned.code == 0);
  CHECK(json::parse(planned.out)["step_seconds"] == answer["step_seconds"]);
  CHECK(plimsoll_in(folder, {"simulate", "t5.json"}).code == 0);
  const ChildEnd largest =
      plimsoll_in(folder, {"largest", "t5-small", "--on", "RTX 3090", "--what", "layers", "--strategies", "resident"});
  INFO(largest.err);
  CHECK(largest.code == 0);
}

TEST_CASE("a T5 runs, goes on where it was left and has the same losses under other strategies, bit for bit") {
  const TemporaryFolder folder;
  const json whole = losses_of(plimsoll_in(folder, run_of("8")));
  CHECK(whole.back() < whole.front());
  CHECK(losses_of(plimsoll_in(folder, run_of("8", {"--strategy", "offload-optimizer"}))) == whole);
  losses_of(plimsoll_in(folder, run_of("5")));
  const ChildEnd end = plimsoll_in(
      folder, {"run", "--resume", "run.plimsoll", "--data", kText, "--steps", "8", "-o", "more.plimsoll", "--json"});
  CHECK(losses_of(end) == json(std::vector<json>(whole.begin() + 5, whole.end())));
}

TEST_CASE("--target-seq is the decoder's length: of the answer, the plan, the run and what goes on with it") {
  const TemporaryFolder folder;
  const auto seconds = [&](const Arguments& more) {
    Arguments line{"fit", "t5-small", "--on", "RTX 3090", "--seq", "512", "--batch", "16", "--json"};
    line.insert(line.end(), more.begin(), more.end());
    const ChildEnd end = plimsoll_in(folder, line);
    INFO(end.err);
    REQUIRE(end.code == 0);
    return json::parse(end.out)["step_seconds"].get<double>();
  };
  CHECK(seconds({"--target-seq", "512"}) == seconds({}));
  CHECK(seconds({"--target-seq", "64"}) < 0.8 * seconds({}));
  CHECK(seconds({"--target-seq", "64", "--stack", "pytorch"}) < 0.8 * seconds({"--stack", "pytorch"}));
  const json whole = losses_of(plimsoll_in(folder, run_of("6", {"--target-seq", "5"})));
  CHECK(whole != losses_of(plimsoll_in(folder, run_of("6"))));
  losses_of(plimsoll_in(folder, run_of("4", {"--target-seq", "5"})));
  const ChildEnd end = plimsoll_in(folder, {"run", "--resume", "run.plimsoll", "--data", kText, "--steps", "6", "--target-seq",
                                            "5", "-o", "more.plimsoll", "--json"});
  CHECK(losses_of(end) == json(std::vector<json>(whole.begin() + 4, whole.end())));
}

TEST_CASE("what does not go with a T5 is refused by name") {
  const TemporaryFolder folder;
  const auto refused = [&](const Arguments& line, const std::string& words) {
    const ChildEnd end = plimsoll_in(folder, line);
    INFO(end.err);
    CHECK(end.code == 2);
    CHECK_THAT(end.err, Contains(words));
  };
  refused(run_of("1", {"--lora", "4"}), "adapters beside an encoder");
  refused(run_of("1", {"--target-seq", "33"}), "--target-seq 33 does not lie between 1 and 32");
  refused(run_of("1", {"--target-seq", "0"}), "--target-seq 0 does not lie between 1 and 32");
  refused({"fit", "t5-small", "--on", "RTX 3090", "--target-seq", "9999", "--stack", "pytorch"}, "--target-seq 9999");
  refused({"fit", "gpt2", "--on", "RTX 3090", "--target-seq", "64"}, "no decoder beside its encoder");
  refused({"fit", "gpt2", "--on", "RTX 3090", "--target-seq", "64", "--stack", "pytorch"}, "no decoder beside its encoder");
  refused({"fit", "t5-small", "--on", "RTX 3090", "--max-target-length", "64"}, "--target-seq");
  refused({"fit", kTinyT5 + ",relative_buckets=3", "--on", "RTX 3090"}, "relative_buckets=3");
  refused({"fit", kTinyT5 + ",relative_buckets=9999999", "--on", "RTX 3090"}, "relative_buckets=9999999");
  refused({"plan", kTinyT5 + ",experts=4,gating=switch", "--on", "RTX 3090", "-o", "t5.json"}, "a mixture of experts");
  refused({"fit", "t5-small", "--workload", "inference", "--on", "RTX 3090"}, "encoder with a decoder");
  refused({"recompute", "t5-small", "--on", "RTX 3090", "--budget", "8GiB"}, "is no chain");
}

}  // namespace plimsoll::test
