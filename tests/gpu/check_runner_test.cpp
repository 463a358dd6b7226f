#include <catch2/catch.hpp>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/gpu/finding.h"
#include "tests/support/child_process.h"
#include "tests/support/temporary_folder.h"

using namespace plimsoll;
using test::ChildEnd;
using test::ChildProcess;
using test::run_child;

namespace {

const std::string kProgram = PLIMSOLL_FAKE_CHECKS;

nlohmann::json content_of(const std::string& file) {
  std::ifstream in(file);
  return nlohmann::json::parse(in, nullptr, false);
}

/// "name: result: note" of every finding in a file.
std::vector<std::string> results_in(const std::string& file) {
  std::vector<std::string> results;
  const nlohmann::json all = content_of(file);
  if (!all.is_object()) return results;
  for (const auto& check : all["checks"]) {
    results.push_back(check["name"].get<std::string>() + ": " + check["result"].get<std::string>() + ": " + check["note"].get<std::string>());
  }
  return results;
}

bool holds(const std::vector<std::string>& results, const std::string& begin) {
  return std::any_of(results.begin(), results.end(), [&](const std::string& result) { return result.starts_with(begin); });
}

}  // namespace

TEST_CASE("a check that throws, crashes, exits or hangs costs neither its own findings nor another check's") {
  const TemporaryFolder folder;
  const std::string file = folder.file("out.json");
  const ChildEnd end = run_child({kProgram, file, "120"}, folder.path());
  CHECK(end.code == 1);
  const std::vector<std::string> results = results_in(file);
  CHECK(holds(results, "passes/one: passed: fine"));
  CHECK(holds(results, "passes/other: MISSED: not \"fine\""));
  for (const std::string name : {"throws", "crashes", "hangs"}) CHECK(holds(results, name + "/before: passed"));
  CHECK(holds(results, "throws: BROKEN: a check broke"));
  CHECK(holds(results, "crashes: BROKEN: ended by signal 11"));
  CHECK(holds(results, "exits: BROKEN: exit code 3"));
  CHECK(holds(results, "hangs: BROKEN: not done after 1 s"));
  CHECK(holds(results, "skips: skipped: skipped: no second GPU"));
  CHECK(holds(results, "last: passed"));
  CHECK(end.out.find("5 of 11 missed or broken") != std::string::npos);
}

TEST_CASE("the file of the checks says on what, when and by which command they ran, and numbers as numbers") {
  const TemporaryFolder folder;
  const std::string file = folder.file("out.json");
  REQUIRE(run_child({kProgram, file, "60", "passes"}, folder.path()).code == 1);
  const nlohmann::json all = content_of(file);
  CHECK(all["format_version"] == 1);
  CHECK(all["device"].get<std::string>().starts_with("emulated device"));
  CHECK(all["machine"].get<std::string>().find("cores") != std::string::npos);
  CHECK(all["date"].get<std::string>().ends_with(" UTC"));
  CHECK(all["command"].get<std::string>().ends_with("out.json 60 passes"));
  REQUIRE(all["checks"].size() == 2);
  CHECK(all["checks"][0]["numbers"]["measured_seconds"] == 0.25);
}

TEST_CASE("what does not fit into the time is skipped and said, and no check may take more than is left") {
  const TemporaryFolder folder;
  const std::string file = folder.file("out.json");
  REQUIRE(run_child({kProgram, file, "0.5", "hangs", "last"}, folder.path()).code == 1);
  const std::vector<std::string> results = results_in(file);
  CHECK(holds(results, "hangs: BROKEN: not done after"));
  CHECK(holds(results, "last: skipped: skipped: out of time"));
}

TEST_CASE("findings stand in the file as soon as they are made") {
  const TemporaryFolder folder;
  const std::string file = folder.file("out.json");
  {
    ChildProcess running({kProgram, file, "60", "hangs"}, folder.path());
    REQUIRE(running.wait_for([&] { return holds(results_in(file), "hangs/before: passed"); }));
    running.send(SIGKILL);
    CHECK(running.wait().signal == SIGKILL);
  }
  CHECK(holds(results_in(file), "hangs/before: passed"));
}

TEST_CASE("without a device every check is listed as skipped, and one that cannot be opened is no missing one") {
  const TemporaryFolder folder;
  const std::string file = folder.file("out.json");
  ::setenv("FAKE_NO_DEVICE", "1", 1);
  CHECK(run_child({kProgram, file}, folder.path()).code == 77);
  ::unsetenv("FAKE_NO_DEVICE");
  CHECK(results_in(file).size() == 7);
  CHECK(holds(results_in(file), "last: skipped: skipped: no CUDA device"));
  ::setenv("FAKE_DEVICE_CRASHES", "1", 1);
  CHECK(run_child({kProgram, file}, folder.path()).code == 1);
  ::unsetenv("FAKE_DEVICE_CRASHES");
  CHECK(holds(results_in(file), "last: BROKEN: skipped: the device cannot be opened: ended by signal 6"));
}

TEST_CASE("a finding survives its way through a line, and half a line is none") {
  const gpu::Finding finding{.name = "a/b", .bound = "< \"1\"", .verdict = gpu::Verdict::kMissed, .value = 0.1, .note = "n\nm",
                             .seconds = 2, .numbers = {{"x", 3}}};
  const std::string line = gpu::write_finding(finding);
  CHECK(line.find('\n') == std::string::npos);
  const auto back = gpu::read_finding(line);
  REQUIRE(back);
  CHECK(gpu::write_finding(*back) == line);
  CHECK_FALSE(gpu::read_finding(line.substr(0, line.size() / 2)));
  CHECK_FALSE(gpu::read_finding("NCCL INFO something"));
}
