// Two programs that want the same file or folder at the same time.
#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace plimsoll::test {
namespace {

const Arguments kEndlessWarmUp{"--warm-up-steps", "100000000"};

}  // namespace

TEST_CASE("a second run on one run file is refused in words, from the first's start on, also with --force") {
  const TemporaryFolder folder;
  ChildProcess first(command_line(tiny_run("100000000", kEndlessWarmUp)), folder.path());
  REQUIRE(first.wait_for_text("warming up"));
  std::filesystem::create_symlink(folder.path(), folder.file("other-name"));
  for (const char* name : {"run.plimsoll", "other-name/run.plimsoll"}) {
    Arguments second = tiny_run("2", {"--force"});
    *std::find(second.begin(), second.end(), "run.plimsoll") = name;
    const ChildEnd refused = plimsoll_in(folder, second);
    INFO(refused.err);
    CHECK(refused.code == 4);
    CHECK_THAT(refused.err, Catch::Contains("another run (process ") && Catch::Contains("is writing this run file"));
  }
  first.send(SIGKILL);
  CHECK(first.wait().signal == SIGKILL);
  const ChildEnd later = plimsoll_in(folder, tiny_run("2", {"--force"}));
  INFO(later.err);
  CHECK(later.code == 0);  // the lock died with its holder
  CHECK_THAT(later.err, Catch::Contains("too few steps for a warm-up"));
  std::filesystem::remove(folder.file("other-name"));
  CHECK(files_in(folder) == std::vector<std::string>{"run.plimsoll", "run.plimsoll.checkpoint.safetensors"});
}

TEST_CASE("two runs keep their SSD data in one folder at once, and neither changes a bit of the other's losses") {
  const TemporaryFolder folder;
  const auto run = [](const std::string& file) {
    Arguments line = tiny_run("300", {"--ssd", "1GB:1,1", "--strategy", "offload-optimizer-ssd", "--json"});
    *std::find(line.begin(), line.end(), "run.plimsoll") = file;
    return line;
  };
  ChildProcess first(command_line(run("first.plimsoll")), folder.path());
  ChildProcess second(command_line(run("second.plimsoll")), folder.path());
  const ChildEnd first_end = first.wait();
  const ChildEnd second_end = second.wait();
  INFO(first_end.err << second_end.err);
  REQUIRE(first_end.code == 0);
  REQUIRE(second_end.code == 0);
  const auto losses = [](const ChildEnd& end) { return nlohmann::json::parse(end.out)["losses"]; };
  CHECK(losses(first_end) == losses(second_end));
  CHECK(losses(first_end).size() == 300);
}

}  // namespace plimsoll::test
