#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

// Mixtures of experts as a user meets them.
namespace plimsoll::test {
namespace {

using nlohmann::json;

const std::string kSwitch = "gpt:layers=2,hidden=16,heads=2,vocab=256,positions=32,experts=4,gating=switch,capacity=0.5";

}  // namespace

TEST_CASE("fit tells a Mixtral's parameters from those that a token passes through, and what it takes for granted") {
  const TemporaryFolder folder;
  const ChildEnd text = plimsoll_in(folder, {"fit", "mixtral-8x7b", "--on", "RTX 4090", "--strategy", "stream"});
  INFO(text.out << text.err);
  CHECK(text.code == 3);
  CHECK_THAT(text.out, Catch::Contains("46.70 B parameters, 12.88 B active for a token"));
  CHECK_THAT(text.out, Catch::Contains("tokens spread over the 8 experts of a block as chance would have it"));
  const ChildEnd end = plimsoll_in(folder, {"fit", "mixtral-8x7b", "--on", "RTX 4090", "--strategy", "stream", "--json"});
  const json answer = json::parse(end.out);
  CHECK(answer["model"]["parameters"] == 46'702'792'704);
  CHECK(answer["model"]["active_parameters"] == 12'879'925'248);
}

TEST_CASE("a run of a model with experts prints its auxiliary loss and what was refused, and so does its answer in JSON") {
  const TemporaryFolder folder;
  const Arguments line{"run",      kSwitch, "--data", kText, "--steps", "4", "--seq", "32", "--warm-up-steps", "0",
                       "--matmul", "openblas", "-o", "run.plimsoll"};
  const ChildEnd text = plimsoll_in(folder, line);
  INFO(text.out << text.err);
  CHECK(text.code == 0);
  CHECK_THAT(text.out, Catch::Contains("experts: auxiliary loss"));
  Arguments again = line;
  again.back() = "again.plimsoll";
  again.emplace_back("--json");
  const json answer = json::parse(plimsoll_in(folder, again).out);
  REQUIRE(answer["expert_losses"].size() == 4);
  REQUIRE(answer["expert_overflow"].size() == 4);
  for (const double refused : answer["expert_overflow"]) CHECK(refused >= 0.5);  // there is room for half of the tokens
}

TEST_CASE("a search for layouts shares a mixture's experts where that is faster, but not where --ep says otherwise") {
  const TemporaryFolder folder;
  const auto answer = [&](const Arguments& more) {
    Arguments line{"fit", "qwen3-30b-a3b", "--on", "16x H100 SXM5 80GB", "--global-batch", "64", "--json"};
    line.insert(line.end(), more.begin(), more.end());
    return json::parse(plimsoll_in(folder, line).out);
  };
  const json open = answer({}), said = answer({"--ep", "1"});
  CHECK(open["parallel"]["ep"].get<int>() > 1);
  CHECK(said["parallel"]["ep"] == 1);
  CHECK(open["step_seconds"].get<double>() <= said["step_seconds"].get<double>());
}

TEST_CASE("experts that cannot be are refused before anything runs") {
  const TemporaryFolder folder;
  const std::string base = "gpt:layers=2,hidden=16,heads=2,vocab=256,positions=32,";
  const struct {
    std::string keys, named;
  } cases[] = {{"experts=4,top-k=5", "top-k=5"},
               {"experts=4,gating=sigmoid", "gating=sigmoid"},
               {"top-k=2", "needs a number of experts"},
               {"experts=16,gating=switch,capacity=0.1", "capacity=0.1"},
               {"experts=4,gating=switch,groups=5", "groups=5"}};
  for (const auto& [keys, named] : cases) {
    const ChildEnd end = plimsoll_in(folder, {"fit", base + keys, "--on", "RTX 4090"});
    INFO(keys << "\n" << end.out << end.err);
    CHECK(end.code == 2);
    CHECK_THAT(end.err, Catch::Contains(named));
  }
}

}  // namespace plimsoll::test
