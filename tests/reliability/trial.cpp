#include "tests/reliability/trial.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>
#include <thread>

#include "tests/reliability/power_loss.h"
#include "tests/support/child_process.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll::test {
namespace {

using nlohmann::json;

constexpr std::int64_t kSteps = 20;

/// What follows from a seed.
struct Drawn {
  std::string durability;
  std::int64_t every = 0;  ///< 0: none
  std::string options;
  bool by_time = false;      ///< of a kill: at a moment in time, not at an operation
  double place = 0;          ///< 0 to 1: how far into the run
  std::uint64_t chance = 0;  ///< for what the power loss leaves
};

template <typename Choices>
auto pick(const Choices& choices, std::mt19937_64& random) {
  return choices[random() % choices.size()];
}

Drawn draw(Harm harm, std::uint64_t seed) {
  std::mt19937_64 random(seed * 1000003 + static_cast<std::uint64_t>(harm));
  Drawn drawn;
  drawn.durability = pick(std::array<std::string, 3>{"none", "checkpoint", "step"}, random);
  drawn.options = "--durability " + drawn.durability;
  if (drawn.durability != "none") drawn.every = pick(std::array<std::int64_t, 3>{2, 3, 7}, random);
  if (drawn.durability == "step" && random() % 2 == 0) drawn.every = 0;
  if (drawn.every > 0) drawn.options += fmt::format(" --save-every {}", drawn.every);
  drawn.options += pick(std::array<std::string, 3>{" --strategy resident", " --ssd 1GB:1,1 --strategy offload-optimizer-ssd",
                                                   " --ssd 1GB:1,1 --strategy offload-optimizer-ssd --clip 0.5"},
                        random);
  drawn.options += pick(std::array<std::string, 2>{" --warm-up-steps 0", " --warm-up-steps 4"}, random);
  drawn.by_time = harm == Harm::kKill && random() % 2 == 0;
  drawn.place = static_cast<double>(random() % 10000) / 10000;
  drawn.chance = random();
  return drawn;
}

std::string in_quotes(const std::string& text) { return "'" + text + "'"; }

/// Steps that the run had told of: the last line of its progress says which.
std::int64_t reported_steps(const std::string& progress) {
  std::ifstream file(progress);
  std::int64_t steps = 0;
  for (std::string line; std::getline(file, line);) {
    const json told = json::parse(line, nullptr, false);
    if (!told.is_discarded() && told.value("event", "") == "step") steps = told["step"].get<std::int64_t>() + 1;
  }
  return steps;
}

/// The answer's list of losses, each as it is written there; of a refusal, none.
std::vector<std::string> losses_of(const std::string& answer) {
  const json found = json::parse(answer, nullptr, false);
  std::vector<std::string> losses;
  if (!found.contains("losses")) return losses;
  for (const json& loss : found["losses"]) losses.push_back(loss.dump());
  return losses;
}

/// Steps whose state must outlast whatever comes: a checkpoint is on the disk before the next step is told of, a step's state
/// before the step itself is.
std::int64_t promised_steps(const Drawn& drawn, std::int64_t reported) {
  if (drawn.durability == "step") return reported;
  return drawn.every == 0 || reported == 0 ? 0 : (reported - 1) / drawn.every * drawn.every;
}

std::string last_line(const std::string& text) {
  const auto end = text.find_last_not_of('\n');
  if (end == std::string::npos) return {};
  const auto begin = text.rfind('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1, end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

/// The folders of one trial: the run's own, what the shim keeps, and what the test reads.
struct Place {
  TemporaryFolder root;
  std::string run = root.file("run"), log = root.file("log"), progress = root.file("progress");
  Place() {
    std::filesystem::create_directory(run);
    std::filesystem::create_directory(log);
  }
};

std::string run_line(const std::string& program, const std::string& text, const std::string& options, std::int64_t steps) {
  return fmt::format("{} run gpt:layers=2,hidden=32,heads=4,vocab=256,positions=32 --data {} --steps {} --device-memory 16MiB "
                     "--ram 64MiB --matmul openblas -o run.plimsoll --json {}",
                     in_quotes(program), in_quotes(text), steps, options);
}

std::string resume_line(const std::string& program, const std::string& text, std::int64_t steps) {
  return fmt::format("exec {} run --resume run.plimsoll --data {} --steps {} --warm-up-steps 0 "
                     "--device-memory 16MiB --ram 64MiB -o more.plimsoll --json",
                     in_quotes(program), in_quotes(text), steps);
}

/// The power goes, and with it what no disk has.
bool is_dark(Harm harm) { return harm == Harm::kPowerLoss || harm == Harm::kLyingDisk; }

bool kills(Harm harm) { return harm == Harm::kKill || is_dark(harm); }

/// In what way a run that was harmed ended otherwise than it should; empty: in none.
std::string wrong_end(Harm harm, const ChildEnd& end, const std::string& said) {
  if (!kills(harm) && end.code != 4) return fmt::format("the run ended with {} instead of 4: {}", end.code, end.err);
  if (!kills(harm) && said.empty()) return "the run said nothing";
  const bool named = harm != Harm::kOverQuota || end.err.find("quota") != std::string::npos;
  return named ? "" : "the run did not name the quota: " + end.err;
}

/// Runs `line` in the place with the trouble in between; after `seconds` (0: never) it is killed.
ChildEnd run_troubled(const Place& place, const std::string& library, const std::string& trouble,
                      const std::string& line, double seconds) {
  const std::string whole = fmt::format(
      "export PLIMSOLL_TROUBLE_FOLDER={} PLIMSOLL_TROUBLE_LOG={} PLIMSOLL_TROUBLE={} LD_PRELOAD={}; exec {} --progress-fd 3 3>{}",
      in_quotes(place.run), in_quotes(place.log), trouble, in_quotes(library), line, in_quotes(place.progress));
  ChildProcess child({"/bin/sh", "-c", whole}, place.run);
  if (seconds > 0) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    child.send(SIGKILL);
  }
  return child.wait();
}

}  // namespace

std::string to_text(Harm harm) {
  switch (harm) {
    case Harm::kKill: return "kill";
    case Harm::kPowerLoss: return "power loss";
    case Harm::kDiskFull: return "disk full";
    case Harm::kIoError: return "I/O error";
    case Harm::kLyingDisk: return "lying disk";
    case Harm::kOverQuota: return "over quota";
  }
  return {};
}

Trials::Trials(std::string program, std::string trouble, std::string text)
    : program_(std::move(program)), trouble_(std::move(trouble)), text_(std::move(text)) {}

std::string Trials::describe(Harm harm, std::uint64_t seed) {
  const Drawn drawn = draw(harm, seed);
  return fmt::format("{} at {:.4f} of a run with {} (seed {})", to_text(harm), drawn.place, drawn.options, seed);
}

const Trials::Undisturbed& Trials::undisturbed(const std::string& options) {
  const auto known = known_.find(options);
  if (known != known_.end()) return known->second;
  const Place place;
  const auto begin = std::chrono::steady_clock::now();
  const ChildEnd end = run_troubled(place, trouble_, "count", run_line(program_, text_, options, kSteps), 0);
  Undisturbed found{.losses = losses_of(end.out)};
  found.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::ifstream(place.log + "/count") >> found.operations;
  if (end.code != 0 || static_cast<std::int64_t>(found.losses.size()) != kSteps || found.operations == 0) {
    throw std::runtime_error("the undisturbed run failed: " + options + ": " + end.err);
  }
  return known_.emplace(options, std::move(found)).first->second;
}

Verdict Trials::run(Harm harm, std::uint64_t seed) {
  const Drawn drawn = draw(harm, seed);
  const Undisturbed& whole = undisturbed(drawn.options);
  const Place place;
  const long at = 1 + static_cast<long>(drawn.place * static_cast<double>(whole.operations));
  const std::array<const char*, 6> names{"kill", "power", "enospc", "eio", "deaf", "edquot"};
  const std::string trouble = drawn.by_time ? "count" : fmt::format("{}:{}", names[static_cast<std::size_t>(harm)], at);
  const double seconds = drawn.by_time ? std::max(0.01, drawn.place * whole.seconds) : 0;
  const ChildEnd end = run_troubled(place, trouble_, trouble, run_line(program_, text_, drawn.options, kSteps), seconds);
  Verdict verdict{.harmed = end.code != 0, .reported = reported_steps(place.progress), .said = last_line(end.err)};
  const auto broken = [&](std::string what) {
    verdict.promise = std::move(what);
    return verdict;
  };
  if (end.signal != 0 && !(kills(harm) && end.signal == SIGKILL))
    return broken(fmt::format("the run died by signal {}", end.signal));
  if (!verdict.harmed) return losses_of(end.out) == whole.losses ? verdict : broken("the run's own losses are wrong");
  if (std::string wrong = wrong_end(harm, end, verdict.said); !wrong.empty()) return broken(std::move(wrong));
  if (is_dark(harm)) lose_power(place.run, place.log, drawn.chance);
  verdict.promised = promised_steps(drawn, verdict.reported);
  const ChildEnd resumed = run_child({"/bin/sh", "-c", resume_line(program_, text_, kSteps)}, place.run);
  if (resumed.signal != 0) return broken(fmt::format("resuming died by signal {}", resumed.signal));
  const bool complete = resumed.err.find(fmt::format("already holds {} steps", kSteps)) != std::string::npos;
  const std::vector<std::string> losses = losses_of(resumed.out);
  verdict.resumed = resumed.code == 0 || complete;
  verdict.found = complete ? kSteps : resumed.code == 0 ? kSteps - static_cast<std::int64_t>(losses.size()) : 0;
  if (!verdict.resumed && verdict.promised > 0) return broken("what was promised is lost: " + resumed.err);
  if (verdict.found < verdict.promised)
    return broken(fmt::format("{} steps were promised, {} found", verdict.promised, verdict.found));
  if (resumed.code == 0 && !std::equal(losses.begin(), losses.end(), whole.losses.begin() + verdict.found)) {
    return broken(fmt::format("resumed from step {} with wrong losses", verdict.found));
  }
  return verdict;
}

}  // namespace plimsoll::test
