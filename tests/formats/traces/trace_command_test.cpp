#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "formats/runs/run_file.h"
#include "tests/support/child_process.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll::test {
namespace {

const std::string kTrace = std::string(PLIMSOLL_TRACES) + "/bert_small_h100.json.gz";

ChildEnd plimsoll_in(const TemporaryFolder& folder, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), PLIMSOLL_PROGRAM);
  return run_child(arguments, folder.path());
}

nlohmann::json answer_of(const TemporaryFolder& folder, std::vector<std::string> arguments) {
  arguments.push_back("--json");
  const ChildEnd end = plimsoll_in(folder, arguments);
  INFO(end.err);
  REQUIRE(end.code == 0);
  return nlohmann::json::parse(end.out);
}

}  // namespace

TEST_CASE("import makes a run file that show and replay open") {
  const TemporaryFolder folder;
  const auto imported = answer_of(folder, {"import", kTrace, "-o", "a.plimsoll"});
  CHECK(imported.at("steps") == 1);
  CHECK(imported.at("calls") == 132);
  const auto run = read_run_file(folder.file("a.plimsoll"));
  REQUIRE(run);
  CHECK(run->meta.kind == "import");
  CHECK(run->meta.machine == "NVIDIA H100 80GB HBM3");
  REQUIRE(run->trace("recorded") != nullptr);
  CHECK(run->trace("recorded")->trace.events.size() == 61);
  CHECK_FALSE(run->memory.empty());
  CHECK(plimsoll_in(folder, {"show", "a.plimsoll"}).out.find("kernels") != std::string::npos);
  const auto from_trace = answer_of(folder, {"replay", kTrace});
  const auto from_run = answer_of(folder, {"replay", "a.plimsoll"});
  for (const char* key : {"events", "traced_seconds", "predicted_seconds", "start_error_p50_seconds", "start_error_p90_seconds",
                          "critical_path_seconds"}) {
    INFO(key);
    REQUIRE(from_trace.contains(key));
    CHECK(from_trace.at(key) == from_run.at(key));
  }
}

TEST_CASE("import names its file after the trace, and replaces none unasked") {
  const TemporaryFolder folder;
  CHECK(plimsoll_in(folder, {"import", kTrace}).code == 0);
  CHECK(std::filesystem::exists(folder.file("bert_small_h100.plimsoll")));
  const ChildEnd again = plimsoll_in(folder, {"import", kTrace});
  CHECK(again.code == 2);
  CHECK(again.err.find("--force") != std::string::npos);
  CHECK(plimsoll_in(folder, {"import", kTrace, "--force"}).code == 0);
}

TEST_CASE("what-ifs change the answer, and one that nothing fits is refused") {
  const TemporaryFolder folder;
  const double as_it_was = answer_of(folder, {"replay", kTrace}).at("predicted_seconds");
  const double without_pauses = answer_of(folder, {"replay", kTrace, "--no-host-gaps"}).at("predicted_seconds");
  CHECK(without_pauses < 0.5 * as_it_was);  // this step is bound by the host
  const double slow = answer_of(folder, {"replay", kTrace, "--scale", "kernel=:1000"}).at("predicted_seconds");
  CHECK(slow > 10 * as_it_was);
  const ChildEnd nothing = plimsoll_in(folder, {"replay", kTrace, "--scale", "kernel=no such kernel:2"});
  CHECK(nothing.code == 2);
  CHECK(nothing.err.find("no such kernel") != std::string::npos);
  CHECK(plimsoll_in(folder, {"replay", kTrace, "--scale", "kernel:2"}).code == 2);
}

TEST_CASE("files that cannot be read end with 2 and leave nothing") {
  const TemporaryFolder folder;
  std::ofstream(folder.file("bad.json")) << R"({"traceEvents":[{"ph":"X","ts":1,)";
  for (const char* file : {"bad.json", "absent.json", "."}) {
    for (const char* command : {"import", "replay"}) {
      const ChildEnd end = plimsoll_in(folder, {command, file});
      INFO(command << " " << file);
      CHECK(end.code == 2);
      CHECK_FALSE(end.err.empty());
    }
  }
  CHECK(plimsoll_in(folder, {"import", "bad.json"}).err.find("byte 33") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(folder.file("bad.plimsoll")));
}

}  // namespace plimsoll::test
