#include <catch2/catch.hpp>

#include "tests/cli/program.h"

namespace plimsoll::test {

TEST_CASE("every command explains itself with an example and ends with 0") {
  const TemporaryFolder folder;
  for (const char* command : {"fit", "plan", "simulate", "run", "calibrate", "compare", "show", "validate", "report", "export",
                              "schedule", "sweep", "machines", "models", "doctor"}) {
    const ChildEnd end = plimsoll_in(folder, {command, "--help"});
    INFO(command);
    CHECK(end.code == 0);
    CHECK_THAT(end.out, Catch::Contains(std::string("Example: plimsoll ") + command));
    CHECK(end.err.empty());
  }
  const ChildEnd whole = plimsoll_in(folder, {"--help"});
  CHECK(whole.code == 0);
  CHECK_THAT(whole.out, Catch::Contains("Exit codes: 0 done, 2 usage or bad input, 3 does not fit"));
}

TEST_CASE("a plan that is made, validated, simulated, run and compared agrees with itself") {
  const TemporaryFolder folder;
  CHECK(
      plimsoll_in(folder, {"plan", kTinyModel, "--device-memory", "16MiB", "--ram", "64MiB", "-o", "plan.json"}).code ==
      0);
  CHECK(plimsoll_in(folder, {"validate", "plan.json"}).code == 0);
  CHECK(plimsoll_in(folder, {"validate", "plan.json", "--json"}).out.find("\"valid\":true") != std::string::npos);
  CHECK(plimsoll_in(folder, {"simulate", "plan.json"}).code == 0);
  const ChildEnd run = plimsoll_in(folder, {"run", "plan.json", "--data", kText, "--steps", "6", "--device-memory",
                                            "16MiB", "--ram", "64MiB", "-o", "run.plimsoll"});
  INFO(run.err);
  REQUIRE(run.code == 0);
  CHECK(plimsoll_in(folder, {"compare", "run.plimsoll"}).code == 0);
  CHECK(plimsoll_in(folder, {"simulate", "plan.json", "--calibration", "run.plimsoll"}).code == 0);
  REQUIRE(plimsoll_in(folder, {"export", "run.plimsoll", "--plan", "same.json", "--chrome", "trace.json"}).code == 0);
  CHECK(read_whole(folder.file("same.json")) == read_whole(folder.file("plan.json")));
}

TEST_CASE("run says each thing that it assumes once, and nothing at all when it is to be quiet") {
  const TemporaryFolder folder;
  const ChildEnd talks = plimsoll_in(folder, tiny_run("3"));
  REQUIRE(talks.code == 0);
  const std::string note = "precision fp32: ";
  REQUIRE_THAT(talks.err, Catch::Contains(note));
  CHECK(talks.err.find(note, talks.err.find(note) + 1) == std::string::npos);
  CHECK_THAT(talks.out, Catch::Contains("together"));
  const ChildEnd quiet = plimsoll_in(folder, tiny_run("3", {"--quiet", "--force"}));
  CHECK(quiet.code == 0);
  CHECK(quiet.err.empty());
}

TEST_CASE("a threshold that is missed and a model that does not fit end with 3") {
  const TemporaryFolder folder;
  CHECK(plimsoll_in(folder, {"fit", "gpt2-xl", "--on", "RTX 2060 6GB", "--strategy", "resident"}).code == 3);
  CHECK(
      plimsoll_in(folder, {"plan", kTinyModel, "--device-memory", "1KiB", "--ram", "64MiB", "-o", "none.json"}).code ==
      3);
  CHECK(files_in(folder).empty());
  REQUIRE(plimsoll_in(folder, tiny_run("5")).code == 0);
  CHECK(plimsoll_in(folder, {"compare", "run.plimsoll", "--threshold", "0"}).code == 3);
}

TEST_CASE("an answer that cannot be written ends with 4") {
  const TemporaryFolder folder;
  const ChildEnd end =
      run_child({"/bin/sh", "-c", std::string(PLIMSOLL_PROGRAM) + " models > /dev/full"}, folder.path());
  CHECK(end.code == 4);
  CHECK_THAT(end.err, Catch::Contains("standard output"));
}

}  // namespace plimsoll::test
