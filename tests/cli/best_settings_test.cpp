#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/program.h"

namespace plimsoll::test {

namespace {

using nlohmann::json;

Arguments asked_with(const Arguments& more) {
  Arguments line{"fit", "gpt2", "--on", "2x RTX 3090", "--seq", "256"};
  line.insert(line.end(), more.begin(), more.end());
  return line;
}

}  // namespace

TEST_CASE("the settings that a program should have can be typed, and fit says the same of them") {
  const TemporaryFolder folder;
  const ChildEnd end = plimsoll_in(folder, asked_with({"--stack", "deepspeed", "--global-batch", "16", "--best-settings", "--json"}));
  REQUIRE(end.code == 0);
  const json found = json::parse(end.out);
  CHECK(found["fits"] == true);
  CHECK(found["looked_at"] > 10);
  CHECK(found["floor_seconds"] < found["best"]["step_seconds"]);
  Arguments typed = asked_with({"--stack", "deepspeed", "--json"});
  std::istringstream words(found["options"].get<std::string>());
  for (std::string word; words >> word;) typed.push_back(word);
  const json again = json::parse(plimsoll_in(folder, typed).out);
  CHECK(again["step_seconds"] == found["best"]["step_seconds"]);
  CHECK(again["memory"] == found["best"]["memory"]);
  CHECK(found["front"][0]["options"].is_string());
}

TEST_CASE("for people the best settings, a floor and a front are told, and as CSV the front") {
  const TemporaryFolder folder;
  using Catch::Contains;
  const ChildEnd text = plimsoll_in(folder, asked_with({"--stack", "pytorch", "--global-batch", "16", "--zero", "3", "--best-settings"}));
  CHECK(text.code == 0);
  CHECK_THAT(text.out, Contains("best    --dp 2 --batch") && Contains("floor   no settings take less") && Contains("looked at"));
  const ChildEnd csv = plimsoll_in(folder, asked_with({"--stack", "pytorch", "--global-batch", "16", "--best-settings", "--csv"}));
  CHECK_THAT(csv.out, Catch::StartsWith("options,step_seconds,") && Contains("--recompute"));
}

TEST_CASE("best settings of nobody, or of what was said otherwise, are refused") {
  const TemporaryFolder folder;
  using Catch::Contains;
  const auto refusal = [&](const Arguments& more) {
    Arguments line = more;
    line.emplace_back("--best-settings");
    const ChildEnd end = plimsoll_in(folder, asked_with(line));
    CHECK(end.code == 2);
    return end.err;
  };
  CHECK_THAT(refusal({}), Contains("a program that is named"));
  CHECK_THAT(refusal({"--stack", "deepspeed", "--strategy", "zero-offload"}), Contains("--strategy"));
  CHECK_THAT(refusal({"--stack", "pytorch", "--what-would-help"}), Contains("--what-would-help"));
  CHECK_THAT(refusal({"--stack", "pytorch", "--workload", "inference"}), Contains("leave it or --workload out"));
  CHECK_THAT(refusal({"--stack", "pytorch", "--batch", "3", "--global-batch", "16"}), Contains("--batch 3 x 2 data ranks"));
}

TEST_CASE("a pipeline's waiting is the limit where it is longest, and what is exposed is told") {
  const TemporaryFolder folder;
  using Catch::Contains;
  const auto piped = [&](const std::string& accumulate) {
    return plimsoll_in(folder, {"fit", "gpt2", "--on", "8x A100 80GB SXM4", "--stack", "megatron", "--tp", "2", "--pp", "4", "--accumulate", accumulate}).out;
  };
  CHECK_THAT(piped("1"), Contains("limit   waiting for other stages of the pipeline, ") && Contains("exposed communication ") && Contains("; the pipeline waits "));
  CHECK_THAT(piped("64"), !Contains("limit   waiting") && Contains("; the pipeline waits "));
}

TEST_CASE("where no layout fits, so many GPUs are named with which one does") {
  const TemporaryFolder folder;
  const Arguments line{"fit", "llama3-8b", "--on", "A100 40GB SXM4", "--gpus", "2", "--seq", "1024", "--global-batch", "8"};
  const ChildEnd few = plimsoll_in(folder, line);
  CHECK(few.code == 3);
  CHECK_THAT(few.out, Catch::Contains("none fits; the one above needs least\n  to fit  4 GPUs ("));
  Arguments more = line;
  more[5] = "4";
  CHECK(plimsoll_in(folder, more).code == 0);
}

TEST_CASE("a global batch of another program's is that of all its GPUs") {
  const TemporaryFolder folder;
  const auto told = [&](const Arguments& more) {
    Arguments line = asked_with({"--stack", "pytorch", "--json"});
    line.insert(line.end(), more.begin(), more.end());
    return json::parse(plimsoll_in(folder, line).out);
  };
  CHECK(told({"--batch", "4", "--global-batch", "32"})["step_seconds"] == told({"--batch", "4", "--accumulate", "4"})["step_seconds"]);
  const ChildEnd odd = plimsoll_in(folder, asked_with({"--stack", "pytorch", "--batch", "4", "--global-batch", "12"}));
  CHECK(odd.code == 2);
  CHECK_THAT(odd.err, Catch::Contains("--batch 4 x 2 data ranks"));
}

}  // namespace plimsoll::test
