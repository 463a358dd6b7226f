#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/cli/program.h"

namespace plimsoll::test {
namespace {

bool companions(const TemporaryFolder& folder) {
  for (const std::string& name : files_in(folder)) {
    if (name.ends_with(".tmp") || name.ends_with("-wal") || name.ends_with("-shm") || name.ends_with("-journal"))
      return true;
  }
  return false;
}

}  // namespace

TEST_CASE("what exists is not replaced unasked, and never when it is of another kind") {
  const TemporaryFolder folder;
  write_file(folder.file("run.plimsoll"), "precious");
  write_file(folder.file("notes.txt"), "precious");
  std::filesystem::create_directory(folder.file("folder"));
  CHECK_THAT(plimsoll_in(folder, tiny_run("2")).err, Catch::Contains("run.plimsoll exists already"));
  CHECK_THAT(plimsoll_in(folder, tiny_run("2", {"--force"})).err, Catch::Contains("no run file"));
  const ChildEnd plan = plimsoll_in(folder, {"plan", kTinyModel, "-o", "notes.txt"});
  CHECK(plan.code == 2);
  CHECK_THAT(plan.err, Catch::Contains("no JSON file"));
  const ChildEnd onto = plimsoll_in(folder, {"plan", kTinyModel, "-o", "folder"});
  CHECK(onto.code == 2);
  CHECK_THAT(onto.err, Catch::Contains("folder"));
  CHECK(read_whole(folder.file("run.plimsoll")) == "precious");
  CHECK(read_whole(folder.file("notes.txt")) == "precious");
}

TEST_CASE("a folder that cannot be written is named before any work is done") {
  const TemporaryFolder folder;
  const auto refused = [&](const Arguments& arguments, const char* where) {
    const ChildEnd end = plimsoll_in(folder, arguments);
    INFO(end.err);
    CHECK(end.code == 4);
    CHECK_THAT(end.err, Catch::Contains(where));
    CHECK(end.out.empty());
    CHECK(files_in(folder).empty());
  };
  refused({"run", kTinyModel, "--data", kText, "-o", "nowhere/run.plimsoll"}, "nowhere");
  refused(tiny_run("2", {"--save", "nowhere/w.safetensors"}), "nowhere");
  refused({"plan", kTinyModel, "-o", "nowhere/plan.json"}, "nowhere");
}

TEST_CASE("a cache that cannot be looked into is as if this computer had not been measured") {
  const TemporaryFolder folder;
  Arguments line{"/usr/bin/env", "XDG_CACHE_HOME=/" + std::string(300, 'x')};  // longer than any file's name
  for (const std::string& word : command_line({"fit", kTinyModel})) line.push_back(word);
  const ChildEnd end = run_child(line, folder.path());
  INFO(end.err);
  CHECK(end.code == 0);
  CHECK_THAT(end.out, Catch::Contains("costs are assumed; plimsoll machines --probe measures this computer"));
}

TEST_CASE("a disk that is full ends the run with 4, and what was committed stays readable") {
  const TemporaryFolder folder;
  const ChildEnd end = plimsoll_in(folder, tiny_run("1000000"), 600'000);  // the limit stands for the full disk
  INFO(end.err);
  CHECK(end.code == 4);
  CHECK_THAT(end.err, Catch::Contains("run.plimsoll"));
  const ChildEnd shown = plimsoll_in(folder, {"show", "run.plimsoll"});
  INFO(shown.err);
  CHECK(shown.code == 0);
  CHECK_THAT(shown.out, Catch::Contains("trace 'run'"));
}

TEST_CASE("a disk too full for the checkpoint, the plan or the weights leaves no stray file") {
  const TemporaryFolder folder;
  const ChildEnd plan = plimsoll_in(folder, {"plan", kTinyModel, "--device-memory", "16MiB", "--ram", "64MiB"}, 4096);
  CHECK(plan.code == 4);
  CHECK(files_in(folder).empty());
  const ChildEnd run = plimsoll_in(folder, tiny_run("2"), 400'000);  // the run file is smaller, the checkpoint is not
  INFO(run.err);
  CHECK(run.code == 4);
  CHECK_THAT(run.err, Catch::Contains("checkpoint"));
  CHECK_FALSE(companions(folder));
  const ChildEnd shown = plimsoll_in(folder, {"show", "run.plimsoll"});
  CHECK_THAT(shown.out, Catch::Contains("error: "));
}

}  // namespace plimsoll::test
