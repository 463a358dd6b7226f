#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "formats/runs/run_file.h"
#include "formats/text/csv.h"
#include "formats/text/read_text_file.h"
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

TEST_CASE("an imported recording exports as a Chrome trace that is the same recording, and as a table") {
  const TemporaryFolder folder;
  const auto first = answer_of(folder, {"import", kTrace, "-o", "a.plimsoll"});
  REQUIRE(plimsoll_in(folder, {"export", "a.plimsoll", "--chrome", "again.json", "--csv", "table.csv"}).code == 0);
  auto second = answer_of(folder, {"import", "again.json", "-o", "b.plimsoll"});
  for (const char* key : {"steps", "calls", "kernels", "copies", "fills", "waits", "ranges"}) {
    INFO(key);
    if (first.contains(key)) CHECK(first.at(key) == second.at(key));
  }
  const auto replayed = answer_of(folder, {"replay", "a.plimsoll"}),
             again = answer_of(folder, {"replay", "b.plimsoll"});
  for (const char* key : {"events", "traced_seconds", "predicted_seconds", "critical_path_seconds"}) {
    INFO(key);
    CHECK(replayed.at(key) == again.at(key));
  }
  const auto table = read_csv(read_text_file(folder.file("table.csv"), Bytes(1 << 24)).value(), "table.csv");
  REQUIRE(table);
  CHECK(table->rows.size() > 132 + 61);  // every call and every piece of device work, and what marks them
  const ChildEnd plan = plimsoll_in(folder, {"export", "a.plimsoll", "--plan", "plan.json"});
  CHECK(plan.code == 2);
  CHECK(plan.err.find("--plan is of a plan that ran") != std::string::npos);
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

TEST_CASE("a disk that is full leaves no half of a run file, and one that was there as it was") {
  const TemporaryFolder folder;
  constexpr long kFull = 20'000;  // bytes that a file may grow to
  const std::vector<std::string> import{PLIMSOLL_PROGRAM, "import", kTrace, "-o", "a.plimsoll"};
  CHECK(run_child(import, folder.path(), kFull).code == 4);
  CHECK(std::filesystem::is_empty(folder.path()));
  CHECK(run_child(import, folder.path()).code == 0);
  const auto size = std::filesystem::file_size(folder.file("a.plimsoll"));
  std::vector<std::string> again = import;
  again.emplace_back("--force");
  CHECK(run_child(again, folder.path(), kFull).code == 4);
  CHECK(std::filesystem::file_size(folder.file("a.plimsoll")) == size);
  CHECK(read_run_file(folder.file("a.plimsoll")));
}

TEST_CASE("what-ifs about the machine: another GPU says by what it was judged, an unknown one is refused") {
  const TemporaryFolder folder;
  const auto as_it_was = answer_of(folder, {"replay", kTrace});
  const auto slower = answer_of(folder, {"replay", kTrace, "--gpu", "RTX 2060 6GB", "--no-host-gaps"});
  const auto same = answer_of(folder, {"replay", kTrace, "--gpu", "H100 SXM5 80GB", "--no-host-gaps", "--recorded-gpu", "H100 SXM5 80GB"});
  CHECK(slower.at("predicted_seconds").get<double>() > same.at("predicted_seconds").get<double>());
  CHECK(slower.at("notes").at(0).get<std::string>().find("nominal rates") != std::string::npos);
  CHECK(as_it_was.at("notes").empty());
  CHECK(plimsoll_in(folder, {"replay", kTrace, "--gpu", "no such board"}).code == 2);
}

TEST_CASE("the recorded memory of a real trace is reproduced at every event") {
  const TemporaryFolder folder;
  const auto answer = answer_of(folder, {"replay", kTrace, "--memory"});
  REQUIRE(answer.at("devices").size() == 1);
  CHECK(answer.at("devices").at(0).at("events") == 218);
  CHECK(answer.at("devices").at(0).at("reserved_error_worst").get<double>() < 0.03);
}

}  // namespace plimsoll::test
