// Kills, losses of power, full disks, I/O errors and quotas, many times each: the long form of tests/reliability.
// Writes what came of them as JSON; ends with 1 when a promise was broken.
//
// reliability_bench OUTPUT.json [KILLS POWER_LOSSES DISK_FULL IO_ERRORS OVER_QUOTA] (500 100 50 50 50 unless said)
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "tests/reliability/trial.h"

namespace plimsoll::test {
namespace {

using nlohmann::ordered_json;

/// How often each harm is done.
using Times = std::array<std::pair<Harm, long>, 5>;

struct Tally {
  long trials = 0, harmed = 0, resumed = 0, broken = 0;
  long reported = 0, promised = 0, found = 0;
  std::vector<std::string> findings;
};

Tally repeat(Trials& trials, Harm harm, long times) {
  Tally tally;
  for (long seed = 1; seed <= times; ++seed) {
    const auto number = static_cast<std::uint64_t>(seed);
    const Verdict verdict = trials.run(harm, number);
    ++tally.trials;
    tally.harmed += verdict.harmed ? 1 : 0;
    tally.resumed += verdict.resumed ? 1 : 0;
    tally.reported += verdict.reported;
    tally.promised += verdict.promised;
    tally.found += verdict.found;
    if (verdict.kept()) continue;
    ++tally.broken;
    tally.findings.push_back(Trials::describe(harm, number) + ": " + verdict.promise);
    fmt::print(stderr, "{}\n", tally.findings.back());
  }
  return tally;
}

/// "AMD EPYC, 2 cores".
std::string machine() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name"))
      return fmt::format("{}, {} cores", line.substr(line.find(':') + 2), std::thread::hardware_concurrency());
  }
  return fmt::format("{} cores", std::thread::hardware_concurrency());
}

ordered_json json_of(const Tally& tally) {
  return {{"trials", tally.trials},     {"harmed", tally.harmed},     {"went_on", tally.resumed},
          {"steps_told", tally.reported}, {"steps_promised", tally.promised}, {"steps_found", tally.found},
          {"promises_broken", tally.broken}, {"findings", tally.findings}};
}

int measure(const std::string& output, const Times& times) {
  Trials trials(PLIMSOLL_PROGRAM, PLIMSOLL_DISK_TROUBLE, PLIMSOLL_SAMPLE_TEXT);
  const auto begin = std::chrono::steady_clock::now();
  ordered_json result{{"format_version", 1},
                      {"machine", machine()},
                      {"date", fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)))},
                      {"command", "./check --long"},
                      {"model", "gpt:layers=2,hidden=32,heads=4,vocab=256,positions=32, 20 steps"}};
  long broken = 0;
  for (const auto& [harm, often] : times) {
    const Tally tally = repeat(trials, harm, often);
    broken += tally.broken;
    result[to_text(harm)] = json_of(tally);
    fmt::print(
        "{:<10} {:>4} trials, {:>4} cut short, {:>4} went on; steps told {}, promised {}, found {}; promises broken {}\n",
        to_text(harm), tally.trials, tally.harmed, tally.resumed, tally.reported, tally.promised, tally.found,
        tally.broken);
    std::fflush(stdout);
  }
  result["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::ofstream(output) << result.dump(2) << "\n";
  return broken == 0 ? 0 : 1;
}

}  // namespace
}  // namespace plimsoll::test

int main(int count, char** arguments) {
  if (count != 2 && count != 7) {
    fmt::print(stderr, "usage: reliability_bench OUTPUT.json [KILLS POWER_LOSSES DISK_FULL IO_ERRORS OVER_QUOTA]\n");
    return 2;
  }
  using plimsoll::test::Harm;
  plimsoll::test::Times times{
      {{Harm::kKill, 500}, {Harm::kPowerLoss, 100}, {Harm::kDiskFull, 50}, {Harm::kIoError, 50}, {Harm::kOverQuota, 50}}};
  for (int i = 2; i < count; ++i) times[static_cast<std::size_t>(i - 2)].second = std::atol(arguments[i]);
  return plimsoll::test::measure(arguments[1], times);
}
