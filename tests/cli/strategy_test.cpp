#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

#include "tests/cli/program.h"

namespace plimsoll::test {
namespace {

using nlohmann::json;

const std::string kGpu = "RTX 2060 6GB";

json answer_of(const ChildEnd& end) {
  INFO(end.err);
  json answer = json::parse(end.out, nullptr, false);
  REQUIRE_FALSE(answer.is_discarded());
  return answer;
}

Arguments fit_with(const std::string& strategy, const Arguments& more = {}) {
  Arguments line{"fit", "gpt2", "--on", kGpu, "--ram", "32GiB", "--strategy", strategy};
  line.insert(line.end(), more.begin(), more.end());
  return line;
}

/// What the program says on standard error of a strategy file with these contents.
std::string refusal_of(const TemporaryFolder& folder, const std::string& text, const Arguments& more = {}) {
  write_file(folder.file("bad.json"), text);
  const ChildEnd end = plimsoll_in(folder, fit_with("bad.json", more));
  INFO(text << "\n" << end.err);
  CHECK(end.code == 2);
  CHECK(end.out.empty());
  return end.err;
}

}  // namespace

TEST_CASE("a strategy that was saved and read back gives the same plan") {
  const TemporaryFolder folder;
  const json found = answer_of(plimsoll_in(folder, fit_with("auto", {"--save-strategy", "s.json", "--json"})));
  const json read = answer_of(plimsoll_in(folder, fit_with("s.json", {"--json"})));
  CHECK(read["strategy"] == found["strategy"]);
  CHECK(read["step_seconds"] == found["step_seconds"]);
  CHECK(read["memory"] == found["memory"]);
}

TEST_CASE("fit, plan and run take a strategy file to the letter") {
  const TemporaryFolder folder;
  write_file(folder.file("mine"), R"({"format_version": 1, "name": "mine", "optimizer": "host", "staging_slots": 7})");
  const json fits = answer_of(plimsoll_in(folder, fit_with("mine", {"--json"})));
  CHECK(fits["strategy"]["name"] == "mine");
  CHECK(fits["strategy"]["staging_slots"] == 7);
  CHECK(fits["alternatives"].empty());
  const Arguments plan{"plan", kTinyModel, "--device-memory", "16MiB", "--ram", "64MiB", "--strategy", "mine", "-o", "plan.json"};
  CHECK(plimsoll_in(folder, plan).code == 0);
  CHECK(answer_of(plimsoll_in(folder, {"simulate", "plan.json", "--json"}))["strategy"]["name"] == "mine");
  const ChildEnd run = plimsoll_in(folder, tiny_run("3", {"--strategy", "mine"}));
  INFO(run.err);
  CHECK(run.code == 0);
  CHECK_THAT(run.out, Catch::Contains("with plan 'mine'"));
}

TEST_CASE("a strategy file without a name is called after its family") {
  const TemporaryFolder folder;
  write_file(folder.file("s.json"), R"({"format_version": 1, "optimizer": "host"})");
  CHECK(answer_of(plimsoll_in(folder, fit_with("s.json", {"--json"})))["strategy"]["name"] == "offload-optimizer");
}

TEST_CASE("a strategy of a file that does not fit says by how much in which memory") {
  const TemporaryFolder folder;
  write_file(folder.file("s.json"), R"({"format_version": 1, "name": "mine"})");
  const ChildEnd fit = plimsoll_in(folder, {"fit", "gpt2-xl", "--on", kGpu, "--strategy", "s.json"});
  CHECK(fit.code == 3);
  CHECK_THAT(fit.out, Catch::Contains("DOES NOT FIT") && Catch::Contains("gpu0 short by 18."));  // 16 bytes · 1.56e9 - 5.45 GiB
  Arguments run = tiny_run("3", {"--strategy", "s.json", "--warm-up-steps", "0"});
  *std::find(run.begin(), run.end(), "16MiB") = "128KiB";
  const ChildEnd ran = plimsoll_in(folder, run);
  CHECK(ran.code == 3);
  CHECK_THAT(ran.err, Catch::Contains("strategy 'mine' does not fit: gpu0 needs") && Catch::Contains("short by"));
}

TEST_CASE("a bad strategy file is refused with what is wrong in it") {
  const TemporaryFolder folder;
  using Catch::Contains;
  CHECK_THAT(refusal_of(folder, R"({"format_version": 1, "staging_slot": 2})"), Contains("staging_slot") && Contains("staging_slots"));
  CHECK_THAT(refusal_of(folder, R"({"format_version": 1, "optimizer": "disk"})"), Contains("disk") && Contains("ssd"));
  CHECK_THAT(refusal_of(folder, R"({"format_version": 1, "staging_slots": 0})"), Contains("/staging_slots"));
  CHECK_THAT(refusal_of(folder, R"({"format_version": 1, "recompute_every": -1})"), Contains("/recompute_every"));
  CHECK_THAT(refusal_of(folder, R"({"format_version": 1, "overlap": "yes"})"), Contains("/overlap"));
  CHECK_THAT(refusal_of(folder, R"({"format_version": 2})"), Contains("format_version 2"));
  CHECK_THAT(refusal_of(folder, R"({"optimizer": "host"})"), Contains("format_version"));
  CHECK_THAT(refusal_of(folder, R"({"format_version": 1, "optimizer": "host", "optimizer": "ssd"})"), Contains("optimizer"));
  CHECK_THAT(refusal_of(folder, "optimizer: host"), Contains("bad.json"));
  CHECK_THAT(refusal_of(folder, ""), Contains("bad.json"));
  CHECK_THAT(refusal_of(folder, "[]"), Contains("bad.json"));
  CHECK_THAT(refusal_of(folder, std::string(3 << 20, ' ')), Contains("bad.json"));
}

TEST_CASE("an impossible combination in a strategy file is refused with the reason") {
  const TemporaryFolder folder;
  using Catch::Contains;
  CHECK_THAT(refusal_of(folder, R"({"format_version": 1, "parameters": "host"})"), Contains("streams weights"));
  CHECK_THAT(refusal_of(folder, R"({"format_version": 1, "gradients": "host"})"), Contains("gradients"));
  CHECK_THAT(refusal_of(folder, R"({"format_version": 1, "optimizer": "ssd"})"), Contains("no SSD") && Contains("--ssd"));
  CHECK_THAT(refusal_of(folder, R"({"format_version": 1, "parameters": "host", "optimizer": "ssd"})",
                        {"--precision", "fp32", "--ssd", "200GB"}),
             Contains("only copy"));
}

TEST_CASE("a strategy that is neither a file nor a family is an unknown name") {
  const TemporaryFolder folder;
  using Catch::Contains;
  CHECK_THAT(plimsoll_in(folder, fit_with("stram")).err, Contains("unknown strategy 'stram'") && Contains("stream"));
  CHECK_THAT(plimsoll_in(folder, fit_with("none.json")).err, Contains("none.json"));
  CHECK_THAT(plimsoll_in(folder, fit_with("stream-ssd")).err, Contains("no SSD") && Contains("--ssd"));
  CHECK(plimsoll_in(folder, fit_with("none.json")).code == 2);
}

TEST_CASE("a saved strategy does not destroy a file of another kind") {
  const TemporaryFolder folder;
  write_file(folder.file("notes.txt"), "not JSON");
  CHECK(plimsoll_in(folder, fit_with("auto", {"--save-strategy", "notes.txt"})).code == 2);
  CHECK(read_whole(folder.file("notes.txt")) == "not JSON");
}

TEST_CASE("fit puts every published system beside our own plan") {
  const TemporaryFolder folder;
  const json all = answer_of(plimsoll_in(folder, fit_with("all", {"--ssd", "200GB", "--json"})));
  REQUIRE(all.is_array());
  std::set<std::string> names;
  for (const json& answer : all) names.insert(answer["strategy"]["name"].get<std::string>());
  for (const char* system : {"zero-offload", "zero-offload-delayed", "twin-flow", "zero-3-offload", "zero-infinity", "mlp-offload",
                             "gemini-static", "gemini", "patrickstar", "fuyou", "lohan", "l2l", "superoffload", "megatrain", "vdnn",
                             "geeps", "chen-sqrt", "selective-recompute"}) {
    CAPTURE(system);
    CHECK(names.count(system) == 1);
  }
  CHECK(names.size() == 19);  // and ours
  const ChildEnd table = plimsoll_in(folder, fit_with("all"));
  using Catch::Contains;
  CHECK_THAT(table.out, Contains("to ours") && Contains("zero-offload") && Contains("zero-infinity") && Contains("no plan: "));
}

TEST_CASE("a system's name is a strategy for fit, plan and run, but for what delays updates or is no plan") {
  const TemporaryFolder folder;
  CHECK(answer_of(plimsoll_in(folder, fit_with("zero-offload", {"--json"})))["strategy"]["optimizer"] == "host");
  const ChildEnd delayed = plimsoll_in(folder, fit_with("zero-offload-delayed"));
  CHECK(delayed.code == 0);
  using Catch::Contains;
  CHECK_THAT(delayed.out, Contains("changes numbers"));
  CHECK(plimsoll_in(folder, tiny_run("3", {"--strategy", "zero-offload"})).code == 0);
  const ChildEnd run = plimsoll_in(folder, tiny_run("3", {"--strategy", "zero-offload-delayed", "--force"}));
  CHECK(run.code == 2);
  CHECK_THAT(run.err, Contains("gradients that wait"));
  const ChildEnd zenflow = plimsoll_in(folder, fit_with("zenflow"));
  CHECK(zenflow.code == 2);
  CHECK_THAT(zenflow.err, Contains("another optimizer"));
  CHECK_THAT(plimsoll_in(folder, fit_with("zero-ofload")).err, Contains("zero-offload"));
}

TEST_CASE("the families that were rejected are told with their reason") {
  const TemporaryFolder folder;
  const Arguments line{"fit", "gpt2-xl", "--on", kGpu, "--ram", "16GiB", "--ssd", "200GB"};
  const ChildEnd end = plimsoll_in(folder, line);
  using Catch::Contains;
  CHECK_THAT(end.out, Contains("rejected") && Contains("limited by ssd.write") && Contains("host short by"));
  Arguments with_json = line;
  with_json.push_back("--json");
  const json answer = answer_of(plimsoll_in(folder, with_json));
  std::set<std::string> names{answer["strategy"]["name"]};
  for (const json& other : answer["alternatives"]) {
    CHECK(names.insert(other["strategy"]).second);  // each family once, and not the chosen one
    CHECK(other["step_seconds"] > 0);
    CHECK(other["peak_bytes"] > 0);
    if (other["fits"]) CHECK(other["slower_by_seconds"] > -1e-3 * answer["step_seconds"].get<double>());
    if (!other["fits"]) CHECK(other["short_of"][0]["short_bytes"] > 0);
  }
  for (const char* family : {"resident", "recompute", "offload-optimizer", "offload-optimizer-ssd", "stream", "stream-ssd"}) {
    CHECK(names.count(family) == 1);
  }
}

}  // namespace plimsoll::test
