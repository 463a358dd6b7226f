// Others that take the memory of a run.
#include <catch2/catch.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "session/memory_watch.h"
#include "session/resume_command.h"
#include "tests/session/session_case.h"

namespace plimsoll::test {
namespace {

constexpr std::int64_t kMi = std::int64_t{1} << 20;

MemoryNow now(std::int64_t available_mib, std::int64_t own_mib) {
  return {{Bytes(available_mib * kMi), "MemAvailable"}, Bytes(own_mib * kMi), std::nullopt};
}

/// A computer as its kernel tells of it.
void write_kernel(const TemporaryFolder& root, std::int64_t available_mib, std::int64_t own_mib, double stalled) {
  std::filesystem::create_directories(root.file("proc/self"));
  std::filesystem::create_directories(root.file("proc/pressure"));
  std::ofstream(root.file("proc/meminfo")) << "MemTotal: 99999999 kB\nMemAvailable: " << available_mib * 1024 << " kB\n";
  std::ofstream(root.file("proc/self/status")) << "Name: x\nRssAnon: " << own_mib * 1024 << " kB\nRssFile: 1 kB\n";
  std::ofstream(root.file("proc/self/cgroup")) << "";
  std::ofstream(root.file("proc/pressure/memory")) << "some avg10=" << stalled << " avg60=0.00 avg300=0.00 total=5\n";
}

}  // namespace

TEST_CASE("others that take what a run counts on are noticed once, with figures") {
  // A run could have 9000 + 1000 MiB; a twentieth is 500. It needs 1400 and has 1000, so that 400 are to come.
  MemoryWatch watch(Bytes(1400 * kMi), now(9000, 1000));
  CHECK_FALSE(watch.look(now(8700, 1300)));  // its own growth
  CHECK_FALSE(watch.look(now(700, 1300)));   // 100 to come, 600 left
  const auto shortage = watch.look(now(550, 1300));
  REQUIRE(shortage);
  CHECK(shortage->taken == Bytes(8150 * kMi));  // (9000 − 550) − (1300 − 1000)
  CHECK(shortage->missing == Bytes(100 * kMi));
  CHECK(shortage->affordable == Bytes(1350 * kMi));  // 550 + 1300 − 500
  CHECK(shortage->text().find("have taken 7.96 GiB") != std::string::npos);
  CHECK_FALSE(watch.look(now(10, 1300)));
}

TEST_CASE("a run that fills memory by itself blames nobody") {
  MemoryWatch watch(Bytes(9900 * kMi), now(9000, 1000));
  CHECK_FALSE(watch.look(now(100, 9900)));  // it was planned so tightly
  CHECK_FALSE(watch.look(now(5, 9990)));
  CHECK(watch.look(now(5, 9700)));  // 295 taken by others: over half of 500
}

TEST_CASE("what was swapped out is missing") {
  MemoryWatch watch(Bytes(1000 * kMi), now(9000, 1000));
  CHECK_FALSE(watch.look(now(600, 1000)));
  CHECK(watch.look(now(600, 800)));  // 200 of its own are not in memory any more: 400 would be left
}

TEST_CASE("a run whose memory others take says so once and names the command that plans for less") {
  const TemporaryFolder folder, root;
  write_kernel(root, 8000, 200, 0);
  RunRequest request = small_request(folder, Family::kGpt2, 8);
  request.kernel_root = root.path();
  request.typed = {{"--ram", "1GiB"}, {"--device-memory", "32MiB"}, {"--steps", "8"}};
  std::vector<std::string> told;
  RunWatcher watcher;
  watcher.on_warning = [&](const std::string& text) { told.push_back(text); };
  watcher.on_step = [&](const StepSummary& step, std::int64_t) {
    if (step.step < 2 || step.step > 4) return;
    write_kernel(root, 300, 200, 12.5);
    std::this_thread::sleep_for(std::chrono::milliseconds(1050));
  };
  REQUIRE(run_session(request, watcher, std::atomic<bool>(false)));
  REQUIRE(told.size() == 1);
  // 8000 − 300 taken; of 8200 a twentieth, 410, is kept free: 200 + 300 − 410 are left to plan with.
  CHECK_THAT(told[0], Catch::Contains("have taken 7.52 GiB of memory") && Catch::Contains("300.0 MiB are left (MemAvailable)") &&
                          Catch::Contains("for 12 % of the time") && Catch::Contains("go on with less: plimsoll run --resume ") &&
                          Catch::Contains(" --ram 90MiB --device-memory 32MiB -o FILE"));
}

TEST_CASE("the command that goes on has what was typed, as a shell reads it, and what takes its place") {
  const TemporaryFolder folder;
  RunRequest request = small_request(folder, Family::kGpt2, 8);
  request.output = "a run.plimsoll";
  request.data = "it's.txt";
  request.typed = {{"--data", "it's.txt"}, {"--ssd", "2GB:3,1"}, {"--quiet", ""}, {"--lr", "0.1"}};
  CHECK(resume_command(request) ==
        "plimsoll run --resume 'a run.plimsoll' --data 'it'\\''s.txt' --steps 8 --ssd 2GB:3,1 --quiet --lr 0.1 -o FILE");
  CHECK(ssd_option(request, {.read = 1.5e9, .write = 0.25e9}) == "2GB:1.5,0.25");
  CHECK(resume_command(request, {{"--ssd", "2GB:1.5,0.25"}}).find(" --ssd 2GB:1.5,0.25 --quiet") != std::string::npos);
}

}  // namespace plimsoll::test
