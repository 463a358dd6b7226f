// Two programs that want the same file or folder at the same time.
#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>

#include "tests/cli/program.h"

namespace plimsoll::test {
namespace {

const Arguments kEndlessWarmUp{"--warm-up-steps", "200000"};

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

TEST_CASE("a second run's SSD data is refused a folder that has a run's, and may go elsewhere") {
  const TemporaryFolder folder;
  const Arguments on_ssd{"--ssd", "1GB:1,1", "--strategy", "offload-optimizer-ssd"};
  const auto run = [&](const std::string& steps, const std::string& file, const Arguments& more) {
    Arguments line = tiny_run(steps, on_ssd);
    *std::find(line.begin(), line.end(), "run.plimsoll") = file;
    line.insert(line.end(), more.begin(), more.end());
    return line;
  };
  ChildProcess first(command_line(run("100000000", "first.plimsoll", kEndlessWarmUp)), folder.path());
  REQUIRE(first.wait_for_text("warming up"));
  std::filesystem::create_directory(folder.file("elsewhere"));
  const ChildEnd refused = plimsoll_in(folder, run("2", "second.plimsoll", {}));
  INFO(refused.err);
  CHECK(refused.code == 4);
  CHECK_THAT(refused.err, Catch::Contains("another run keeps its SSD data in this folder") && Catch::Contains("--ssd-folder"));
  CHECK_FALSE(std::filesystem::exists(folder.file("second.plimsoll")));
  CHECK(plimsoll_in(folder, run("2", "second.plimsoll", {"--ssd-folder", "elsewhere"})).code == 0);
  first.send(SIGKILL);
  CHECK(first.wait().signal == SIGKILL);
  CHECK(plimsoll_in(folder, run("2", "second.plimsoll", {"--force"})).code == 0);  // the lock died with its holder
}

}  // namespace plimsoll::test
