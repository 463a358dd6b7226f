#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "formats/runs/run_file.h"
#include "formats/traces/read_nsight.h"
#include "tests/profiler/cupti/fake_profile.h"
#include "tests/support/child_process.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll::test {
TEST_CASE("a profiled program ends as it would alone, and its device records are in a run file") {
  const TemporaryFolder folder;
  const ChildEnd end = run_child(profile_of({"exit", "7"}), folder.path());
  INFO(end.err);
  CHECK(end.code == 7);
  CHECK(end.out == "the program's own output\n");
  CHECK(files_in(folder) == 1);  // the spools are gone
  const auto run = read_run_file(folder.file("a.plimsoll"));
  REQUIRE(run);
  CHECK(run->meta.kind == "profile");
  CHECK(run->finished);
  const auto recording = read_nsight(folder.file("a.plimsoll"));
  REQUIRE(recording);
  REQUIRE(recording->work.size() == 2);
  CHECK(recording->names.at(recording->work[0].name) == "kernel(float*)");
  CHECK((recording->work[0].end - recording->work[0].start).count == 20'000);
  // The fake's program ran a millisecond before it was collected: near the capture's beginning, on the calendar's clock.
  CHECK(std::abs(recording->work[0].start.count) < 5'000'000'000);
  CHECK(recording->work[1].bytes == 4096);
  CHECK(recording->work[1].source_kind == 2);
  CHECK(recording->work[1].target_kind == 1);
  REQUIRE_FALSE(recording->calls.empty());
  CHECK(recording->names.at(recording->calls[0].name) == "cudaLaunchKernel");
  REQUIRE(run->trace("recorded") != nullptr);
  CHECK(run->trace("recorded")->trace.steps.size() == 1);
  CHECK(run->trace("recorded")->trace.events.size() == 2);
}

TEST_CASE("show tells what a profile holds") {
  const TemporaryFolder folder;
  run_child(profile_of({"exit", "0"}), folder.path());
  const ChildEnd shown = run_child({PLIMSOLL_PROGRAM, "show", "a.plimsoll"}, folder.path());
  CHECK(shown.code == 0);
  CHECK(shown.out.find("kernels") != std::string::npos);
  CHECK(shown.out.find("copies DtoH") != std::string::npos);
}

TEST_CASE("a program that a signal ends is reported as a shell does, and keeps what was collected") {
  const TemporaryFolder folder;
  const Setting early("FAKE_CUPTI_EARLY", "1");
  const ChildEnd end = run_child(profile_of({"signal", std::to_string(SIGKILL)}), folder.path());
  INFO(end.err);
  CHECK(end.code == 128 + SIGKILL);
  const auto recording = read_nsight(folder.file("a.plimsoll"));
  REQUIRE(recording);
  CHECK(recording->work.size() == 2);
  REQUIRE_FALSE(recording->losses.empty());
  CHECK(recording->losses[0].what == "ends of spools");
}

TEST_CASE("a signal for the profile goes on to the program") {
  const TemporaryFolder folder;
  ChildProcess child(profile_of({"wait", "ready"}), folder.path());
  REQUIRE(child.wait_for([&] { return std::filesystem::exists(folder.file("ready")); }));
  child.send(SIGTERM);
  CHECK(child.wait().code == 5);
}

TEST_CASE("records that were dropped are said and stored") {
  const TemporaryFolder folder;
  const Setting dropped("FAKE_CUPTI_DROPPED", "42");
  const ChildEnd end = run_child(profile_of({"exit", "0"}), folder.path());
  CHECK(end.err.find("42 device records are missing") != std::string::npos);
  const auto run = read_run_file(folder.file("a.plimsoll"));
  REQUIRE(run);
  REQUIRE_FALSE(run->log.empty());
  CHECK(run->log.back().text.find("42 device records") != std::string::npos);
}

TEST_CASE("a child that forks is profiled once") {
  const TemporaryFolder folder;
  CHECK(run_child(profile_of({"fork", "0"}), folder.path()).code == 0);
  const auto recording = read_nsight(folder.file("a.plimsoll"));
  REQUIRE(recording);
  CHECK(recording->work.size() == 2);
}

TEST_CASE("what stands in the way of a profile is said in words, and the program runs all the same") {
  const TemporaryFolder folder;
  const ChildEnd plain = run_child(profile_of({"plain", "3"}), folder.path());
  CHECK(plain.code == 3);
  CHECK(plain.out == "the program's own output\n");
  CHECK(plain.err.find("never started CUDA") != std::string::npos);
  const ChildEnd told = run_child(profile_of({"plain", "3"}, {"--json"}), folder.path());
  CHECK(told.code == 3);
  const std::string own = "the program's own output\n";
  REQUIRE(told.out.starts_with(own));
  const auto answer = nlohmann::json::parse(told.out.substr(own.size()));
  CHECK(answer["error"]["kind"] == "input");
  CHECK(answer["error"]["what"].get<std::string>().find("never started CUDA") != std::string::npos);
  CHECK(answer["error"]["where"] == PLIMSOLL_FAKE_PROGRAM);
  CHECK(answer["error"]["exit_code"] == 3);
  {
    const Setting forbidden("FAKE_CUPTI_FORBIDDEN", "all");
    const ChildEnd end = run_child(profile_of({"exit", "4"}), folder.path());
    CHECK(end.code == 4);
    CHECK(end.err.find("NVreg_RestrictProfilingToAdminUsers=0") != std::string::npos);
  }
  {
    const Setting old("FAKE_CUPTI_OLD", "1");
    CHECK(run_child(profile_of({"exit", "0"}), folder.path()).err.find("too old") != std::string::npos);
  }
  const ChildEnd absent = run_child(
      {PLIMSOLL_PROGRAM, "profile", "--cupti", "/nowhere/libcupti.so", "--", PLIMSOLL_FAKE_PROGRAM, "exit", "0"}, folder.path());
  CHECK(absent.code == 0);
  CHECK(absent.err.find("CUPTI cannot be loaded") != std::string::npos);
  CHECK(files_in(folder) == 0);
}

TEST_CASE("a capture that may not have all that it needs leaves the program without any") {
  const TemporaryFolder folder;
  const std::string left = folder.file("left");
  const Setting forbidden("FAKE_CUPTI_FORBIDDEN", "5"), note("FAKE_CUPTI_LEFT", left.c_str());  // calls of the runtime
  CHECK(run_child(profile_of({"exit", "4"}), folder.path()).code == 4);
  std::ifstream file(left);
  std::uint64_t kinds = 1;
  REQUIRE(file >> kinds);
  CHECK(kinds == 0);
}

TEST_CASE("a profile that cannot begin is refused before the program runs") {
  const TemporaryFolder folder;
  const ChildEnd missing = run_child({PLIMSOLL_PROGRAM, "profile", "--", "no-such-program"}, folder.path());
  CHECK(missing.code == 2);
  CHECK(missing.err.find("no-such-program") != std::string::npos);
  CHECK(run_child({PLIMSOLL_PROGRAM, "profile"}, folder.path()).code == 2);
  run_child(profile_of({"exit", "0"}), folder.path());
  const ChildEnd again = run_child(profile_of({"exit", "9"}), folder.path());
  CHECK(again.code == 2);
  CHECK(again.err.find("--force") != std::string::npos);
  CHECK(run_child(profile_of({"exit", "9"}, {"--force"}), folder.path()).code == 9);
  const ChildEnd json = run_child(profile_of({"exit", "0"}, {"--force", "--json"}), folder.path());
  CHECK(json.out.find("\"kernels\": [") != std::string::npos);
}

}  // namespace plimsoll::test
