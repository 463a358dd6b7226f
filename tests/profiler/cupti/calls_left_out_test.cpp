#include "profiler/cupti/calls_left_out.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "formats/runs/run_file.h"
#include "formats/traces/read_nsight.h"
#include "tests/profiler/cupti/fake_profile.h"
#include "tests/support/child_process.h"

namespace plimsoll::test {
namespace {

/// The calls that a CUPTI of this version numbers, by its headers.
Words calls_in(const std::string& header, const std::string& prefix) {
  std::ifstream file(std::string(PLIMSOLL_CUPTI_HEADERS) + "/" + header);
  Words calls;
  for (std::string line; std::getline(file, line);) {
    const std::size_t at = line.find(prefix);
    if (at == std::string::npos) continue;
    const std::size_t begin = at + prefix.size();
    calls.push_back(line.substr(begin, line.find_first_of(" =,", begin) - begin));
  }
  return calls;
}

Words all_calls() {
  Words calls = calls_in("cupti_runtime_cbid.h", "CUPTI_RUNTIME_TRACE_CBID_");
  const Words of_driver = calls_in("cupti_driver_cbid.h", "CUPTI_DRIVER_TRACE_CBID_");
  calls.insert(calls.end(), of_driver.begin(), of_driver.end());
  return calls;
}

Words names_of_calls(const Recording& recording) {
  Words names;
  for (const HostCall& call : recording.calls) names.push_back(recording.names.at(call.name));
  return names;
}

/// What the fake noted when the program ended.
struct Left {
  std::uint64_t kinds = 0, zeroed_by_cupti = 99, came_dirty = 99;
};

}  // namespace

TEST_CASE("a call that works, moves, allocates, loads, waits or changes anything is never left out") {
  const Words calls = all_calls();
  REQUIRE(calls.size() > 1000);
  constexpr std::string_view kDoes[] = {
      "Launch", "Memcpy",   "Memset",  "Alloc",    "Free",   "Synchronize", "Wait", "Record",   "Query",      "Graph",
      "Module", "Load",     "Library", "Create",   "Init",   "Destroy",     "Set",  "Enable",   "Map",        "Push",
      "Pop",    "Prefetch", "Write",   "Register", "Import", "Export",      "Open", "Close",    "Begin",      "End",
      "Update", "Release",  "Retain",  "Reset",    "Signal", "Exec",        "Link", "Exchange", "MemGetInfo", "Occupancy"};
  for (const std::string& call : calls) {
    const bool does = std::ranges::any_of(kDoes, [&](std::string_view word) { return call.find(word) != std::string::npos; });
    INFO(call);
    if (does) CHECK_FALSE(is_left_out(call));
  }
}

TEST_CASE("every function that is left out is one that CUPTI knows, in all of its versions") {
  const Words calls = all_calls();
  for (const std::string_view function : functions_left_out()) {
    INFO(function);
    CHECK(std::ranges::any_of(calls, [&](const std::string& call) { return call.starts_with(function) && is_left_out(call); }));
  }
  CHECK(is_left_out("cuStreamGetCtx_v2_ptsz"));
  CHECK(is_left_out("cudaStreamGetCaptureInfo_v2_ptsz_v11030"));
  CHECK_FALSE(is_left_out("cudaGetDeviceCount_v3020"));
}

TEST_CASE("a profile leaves out calls that only ask, keeps the others, and says so") {
  const TemporaryFolder folder;
  const ChildEnd end = run_child(profile_of({"exit", "0"}), folder.path());
  INFO(end.err);
  const auto recording = read_nsight(folder.file("a.plimsoll"));
  REQUIRE(recording);
  CHECK(names_of_calls(*recording) == Words{"cudaLaunchKernel", "cuLaunchKernel", "cudaEventQuery"});
  CHECK(recording->work.size() == 2);
  CHECK(recording->waits.empty());  // a query that was told "not yet" has waited for nothing
  CHECK(end.err.find("calls of 3 functions of CUDA that only ask") != std::string::npos);
  const auto run = read_run_file(folder.file("a.plimsoll"));
  REQUIRE(run);
  const auto says = [](const auto& line) { return line.text.find("3 functions of CUDA that only ask") != std::string::npos; };
  CHECK(std::ranges::any_of(run->log, says));
}

TEST_CASE("a CUPTI that records all calls or none records all") {
  const TemporaryFolder folder;
  const ChildEnd end = run_child(profile_of({"exit", "0"}, {}, PLIMSOLL_OLDER_FAKE_CUPTI), folder.path());
  CHECK(end.err.find("only ask") == std::string::npos);
  const auto recording = read_nsight(folder.file("a.plimsoll"));
  REQUIRE(recording);
  CHECK(recording->calls.size() == 6);
  CHECK(recording->waits.size() == 1);
  CHECK(recording->work.size() == 2);
}

TEST_CASE("calls of the driver are left alone where they may not be recorded") {
  const TemporaryFolder folder;
  const Setting forbidden("FAKE_CUPTI_FORBIDDEN", "4");
  const ChildEnd end = run_child(profile_of({"exit", "0"}), folder.path());
  CHECK(end.err.find("calls of 2 functions of CUDA that only ask") != std::string::npos);
  const auto recording = read_nsight(folder.file("a.plimsoll"));
  REQUIRE(recording);
  CHECK(names_of_calls(*recording) == Words{"cudaLaunchKernel", "cudaEventQuery"});
}

TEST_CASE("CUPTI gets buffers of zeros, so that the program never waits while it makes them so") {
  const TemporaryFolder folder;
  const std::string path = folder.file("left");
  const Setting early("FAKE_CUPTI_EARLY", "1"), again("FAKE_CUPTI_AGAIN", "1"), note("FAKE_CUPTI_LEFT", path.c_str());
  CHECK(run_child(profile_of({"last", "0"}), folder.path()).code == 0);
  const auto recording = read_nsight(folder.file("a.plimsoll"));
  REQUIRE(recording);
  CHECK(recording->work.size() >= 4);  // a buffer has come back and was used again
  std::ifstream file(path);
  Left left;
  REQUIRE(file >> left.kinds >> left.zeroed_by_cupti >> left.came_dirty);
  CHECK(left.zeroed_by_cupti == 0);
  CHECK(left.came_dirty == 0);
}

}  // namespace plimsoll::test
