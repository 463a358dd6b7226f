#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace plimsoll::test {
namespace {

/// Sends `signal` to an endless training once it has printed a step.
ChildEnd signalled(const TemporaryFolder& folder, int signal) {
  ChildProcess child(command_line(tiny_run("100000000")), folder.path());
  const bool stepped = child.wait_for_text("plimsoll: step");
  INFO(child.errors_so_far());
  REQUIRE(stepped);
  child.send(signal);
  return child.wait();
}

}  // namespace

TEST_CASE("Ctrl-C in the middle keeps the run file and a checkpoint, says so, and the run goes on from there") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const TemporaryFolder folder;
    const ChildEnd end = signalled(folder, signal);
    INFO(end.err);
    CHECK(end.code == 130);
    CHECK_THAT(end.err, Catch::Contains("interrupted; go on with plimsoll run --resume run.plimsoll"));
    CHECK(files_in(folder) == std::vector<std::string>{"run.plimsoll", "run.plimsoll.checkpoint.safetensors"});
    const ChildEnd shown = plimsoll_in(folder, {"show", "run.plimsoll", "--json"});
    REQUIRE(shown.code == 0);
    const auto run = nlohmann::json::parse(shown.out);
    const auto done = run["traces"][2]["steps"].get<std::int64_t>();
    CHECK(run["checkpoints"][0]["step"] == done);
    CHECK_THAT(run["log"][0]["text"].get<std::string>(), Catch::Contains("interrupted after " + std::to_string(done)));
    CHECK(plimsoll_in(folder, {"compare", "run.plimsoll"}).code == 0);
    const ChildEnd resumed = plimsoll_in(folder, {"run", "--resume", "run.plimsoll", "--data", kText, "--steps",
                                                  std::to_string(done + 2), "-o", "more.plimsoll", "--json"});
    INFO(resumed.err);
    CHECK(resumed.code == 0);
    CHECK(nlohmann::json::parse(resumed.out)["steps"] == 2);
  }
}

TEST_CASE("Ctrl-C before the first step leaves nothing") {
  const TemporaryFolder folder;
  ChildProcess child(command_line(tiny_run("10", {"--warm-up-steps", "1000000"})), folder.path());
  REQUIRE(child.wait_for_text("warming up"));
  child.send(SIGINT);
  const ChildEnd end = child.wait();
  INFO(end.err);
  CHECK(end.code == 130);
  CHECK(files_in(folder).empty());
}

TEST_CASE("a run that is killed in the middle leaves a run file with the steps and events until then") {
  const TemporaryFolder folder;
  {
    ChildProcess child(command_line(tiny_run("100000000", {"--save-every", "100"})), folder.path());
    REQUIRE(child.wait_for_text("plimsoll: step"));
    REQUIRE(
        child.wait_for([&] { return std::filesystem::exists(folder.file("run.plimsoll.checkpoint.safetensors")); }));
    const auto seen = child.errors_so_far().size();
    REQUIRE(child.wait_for(
        [&] { return child.errors_so_far().size() > seen; }));  // a line a second: commits came in between
    child.send(SIGKILL);
    CHECK(child.wait().signal == SIGKILL);
  }
  const ChildEnd shown = plimsoll_in(folder, {"show", "run.plimsoll", "--json"});
  INFO(shown.err);
  REQUIRE(shown.code == 0);
  const auto run = nlohmann::json::parse(shown.out);
  CHECK(run["finished"] == false);
  CHECK(run["traces"][2]["steps"].get<int>() > 0);
  CHECK(run["traces"][2]["events"].get<int>() > 0);
  CHECK(plimsoll_in(folder, {"compare", "run.plimsoll"}).code == 0);
  const ChildEnd resumed =
      plimsoll_in(folder, {"run", "--resume", "run.plimsoll", "--data", kText, "--steps", "100000000", "-o",
                           "more.plimsoll", "--warm-up-steps", "0", "--strategy", "nothing"});
  CHECK_THAT(resumed.err, Catch::Contains("unknown strategy"));  // it got as far as planning: the checkpoint was found
}

}  // namespace plimsoll::test
