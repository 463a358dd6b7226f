// Memory, drives and limits that are too small: told before anything is reserved.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/cli/program.h"

namespace plimsoll::test {
namespace {

/// 2.4 M parameters in fp32: about 10 MB of weights and as much for each of gradients and moments.
const std::string kModel = "gpt:layers=3,hidden=256,heads=8,vocab=256,positions=64";

Arguments run_with(const Arguments& more) {
  Arguments line{"run", kModel, "--data", kText, "--steps", "4", "--matmul", "openblas", "-q", "-o", "run.plimsoll"};
  line.insert(line.end(), more.begin(), more.end());
  return line;
}

ChildEnd refused(const TemporaryFolder& folder, const Arguments& more, int code) {
  const ChildEnd end = plimsoll_in(folder, run_with(more));
  INFO(end.err);
  CHECK(end.code == code);
  CHECK(end.out.empty());
  CHECK(files_in(folder).empty());
  return end;
}

/// A memory control group of that many bytes below the test's own; empty when none can be made here.
std::string make_control_group(long bytes) {
  for (const char* root : {"/sys/fs/cgroup/memory", "/sys/fs/cgroup"}) {
    const std::string group = std::string(root) + "/plimsoll-test-" + std::to_string(::getpid());
    const std::string limit =
        group + (std::string(root).ends_with("memory") ? "/memory.limit_in_bytes" : "/memory.max");
    std::error_code problem;
    if (!std::filesystem::create_directory(group, problem)) continue;
    std::ofstream(limit) << bytes << std::flush;
    long said = 0;
    if (std::ifstream(limit) >> said && said == bytes) return group;
    std::filesystem::remove(group, problem);
  }
  return {};
}

}  // namespace

TEST_CASE("a memory that is too small for every plan is told with what is needed and what there is") {
  const TemporaryFolder folder;
  const ChildEnd ram = refused(folder, {"--device-memory", "1MiB", "--ram", "10MiB"}, 3);
  CHECK_THAT(ram.err, Catch::Contains("even the smallest plan does not fit") && Catch::Contains("usable 10.0 MiB") &&
                          Catch::Contains("usable 1.0 MiB") && Catch::Contains("short by"));
  CHECK_THAT(ram.err, Catch::Contains("of memory are needed and 11.0 MiB usable"));
}

TEST_CASE("memory that is only divided badly is told how to divide it, and that division runs") {
  const TemporaryFolder folder;
  const ChildEnd end = refused(folder, {"--device-memory", "1MiB", "--ram", "200MiB"}, 3);
  CHECK_THAT(end.err, Catch::Contains("would fit into the same memory"));
  const auto at = end.err.find("--device-memory ");
  REQUIRE(at != std::string::npos);
  std::istringstream words(end.err.substr(at));
  std::string device_option, device, ram_option, ram;
  words >> device_option >> device >> ram_option >> ram;
  const ChildEnd divided = plimsoll_in(folder, run_with({device_option, device, ram_option, ram}));
  INFO(divided.err);
  CHECK(divided.code == 0);
}

TEST_CASE("a host too small for the cautious warm-up does not keep a plan from running that fits the device") {
  const TemporaryFolder folder;
  const ChildEnd end = plimsoll_in(folder, run_with({"--device-memory", "200MiB", "--ram", "1MiB"}));
  INFO(end.err);
  CHECK(end.code == 0);
}

TEST_CASE("more memory than there is, is refused with what there is and who bounds it") {
  const TemporaryFolder folder;
  const ChildEnd end = refused(folder, {"--ram", "900TiB"}, 3);
  CHECK_THAT(end.err, Catch::Contains("900.00 TiB of host memory are more than") && Catch::Contains(" available ("));
}

TEST_CASE("a control group's limit is named, and holds from the start") {
  const TemporaryFolder folder;
  const std::string group = make_control_group(150 << 20);
  if (group.empty()) {
    WARN("skipped: no control group can be made here");
    return;
  }
  const auto inside = [&](const Arguments& arguments) {
    std::string line = "echo $$ > " + group + "/cgroup.procs && exec";
    for (const std::string& word : command_line(arguments)) line += " '" + word + "'";
    return run_child({"/bin/sh", "-c", line}, folder.path());
  };
  const ChildEnd large = inside({"run", "gpt2", "--data", kText, "--steps", "4", "-q", "--matmul", "openblas"});
  const ChildEnd capped = inside(run_with({"--ram", "1GiB"}));
  const ChildEnd small = inside(run_with({}));
  for (int attempt = 0; attempt < 100 && ::rmdir(group.c_str()) != 0; ++attempt) ::usleep(10'000);
  INFO(large.err << capped.err << small.err);
  CHECK(large.code == 3);
  CHECK_THAT(large.err, Catch::Contains("even the smallest plan does not fit"));
  CHECK(capped.code == 3);
  CHECK_THAT(capped.err, Catch::Contains("limit of the control group") && Catch::Contains("plimsoll-test-"));
  CHECK(small.code == 0);
}

TEST_CASE("under any limit of address space the program ends by itself, with words where it cannot go on") {
  const TemporaryFolder folder;
  const auto limited = [&](const std::string& kibibytes, const Arguments& arguments) {
    std::string line = "ulimit -v " + kibibytes + " && exec timeout 20";  // 124: it had to be ended
    for (const std::string& word : command_line(arguments)) line += " '" + word + "'";
    return run_child({"/bin/sh", "-c", line}, folder.path());
  };
  for (const char* kibibytes : {"100000", "150000", "200000", "250000", "300000", "400000"}) {
    CAPTURE(kibibytes);
    Arguments other = run_with({"--force"});
    std::replace(other.begin(), other.end(), std::string("openblas"), std::string("onednn"));
    for (const Arguments& asked : {Arguments{"--version"}, run_with({"--force"}), other}) {
      const ChildEnd end = limited(kibibytes, asked);
      INFO(end.err);
      CHECK(end.signal == 0);
      CHECK((end.code == 0 || end.code == 3 || end.code == 4 ||
             end.code == 127));  // 127: the libraries could not be loaded
      if (end.code != 0) CHECK_FALSE(end.err.empty());
    }
  }
  CHECK(limited("200000", {"--version"}).code == 0);
  const ChildEnd refused = limited("245000", run_with({"--force", "--cpu-cores", "1"}));
  CHECK_THAT(refused.err, Catch::Contains("ulimit -v"));
}

TEST_CASE("a folder that SSD data cannot go to is refused before any work, by run, fit and doctor") {
  const TemporaryFolder folder;
  const Arguments drive{"--ssd", "1GB:1,1", "--ssd-folder", kText};
  const ChildEnd run = refused(folder, drive, 4);
  CHECK_THAT(run.err, Catch::Contains("this is a file"));
  CHECK_THAT(run.err, !Catch::Contains("warming up"));
  CHECK(plimsoll_in(folder, {"fit", kModel, "--ssd", "1GB:1,1", "--ssd-folder", "nowhere"}).code == 4);
  const ChildEnd doctor = plimsoll_in(folder, {"doctor", "--ssd-folder", kText});
  CHECK(doctor.code == 0);
  CHECK_THAT(doctor.out, Catch::Contains("ssd       ") && Catch::Contains("this is a file"));
  CHECK_THAT(plimsoll_in(folder, {"doctor"}).out, Catch::Contains("plans may keep data in '.'") &&
                                                      Catch::Contains(" free") && Catch::Contains("locked    "));
}

TEST_CASE("a drive with too little room is told with what is needed and what is given, before the first step") {
  const TemporaryFolder folder, elsewhere;
  const std::string strategy = elsewhere.file("s.json");
  write_file(strategy, R"({"format_version": 1, "optimizer": "ssd", "gradients": "host"})");  // a search finds room elsewhere
  const ChildEnd end = refused(folder,
                               {"--device-memory", "32MiB", "--ram", "64MiB", "--ssd", "4MiB:1,1", "--strategy", strategy,
                                "--warm-up-steps", "0"},
                               3);
  CHECK_THAT(end.err, Catch::Contains("ssd needs ") && Catch::Contains("usable 4.0 MiB") &&
                          Catch::Contains("give more of it with --ssd"));
}

}  // namespace plimsoll::test
