#include "executor/collectives/rank_watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace plimsoll {
namespace {

Error lost(std::string what) {
  return {.kind = ErrorKind::kEnvironment, .what = std::move(what), .where = {}, .remedy = "the job ends; start it again"};
}

std::string step_text(const RankWord& word) {
  return word.step < 0 ? "before its first step" : fmt::format("in step {}", word.step + 1);
}

double seconds(std::chrono::steady_clock::duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

std::string home_of_this_process() {
  char host[256] = "";
  ::gethostname(host, sizeof(host) - 1);
  return fmt::format("{} {}", ::getpid(), host);
}

std::vector<RankHome> read_homes(const std::vector<std::string>& words) {
  std::vector<RankHome> homes;
  for (const std::string& word : words) {
    homes.push_back({word.substr(word.find(' ') + 1), std::strtoll(word.c_str(), nullptr, 10)});
  }
  return homes;
}

RankWatch::RankWatch(std::uint32_t own, std::vector<RankHome> homes, JobLimits limits, Time now)
    : own_(own), homes_(std::move(homes)), limits_(limits), ranks_(homes_.size(), Heard{{}, now, now, false}) {}

void RankWatch::heard(std::uint32_t rank, const RankWord& word, Time now) {
  Heard& of = ranks_[rank];
  const bool moves = word.instructions != of.word.instructions || word.step < 0 || word.pauses != 0;
  of = {word, now, moves ? now : of.moved, of.ended};
}

void RankWatch::ended(std::uint32_t rank) { ranks_[rank].ended = true; }

std::string RankWatch::place_of(std::uint32_t rank) const {
  return fmt::format("rank {} (process {} on {})", rank, homes_[rank].process, homes_[rank].host);
}

std::optional<Error> RankWatch::loss(Time now) const {
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    const Heard& of = ranks_[rank];
    if (rank == own_ || of.word.done != 0) continue;
    if (of.ended) return lost(fmt::format("{} ended {}", place_of(rank), step_text(of.word)));
    if (now - of.at > limits_.silence)
      return lost(fmt::format("{} has not been heard of for {:.0f} s, since it was {}", place_of(rank), seconds(now - of.at),
                              step_text(of.word)));
  }
  return standstill(now);
}

/// Where nobody gets on, who waits for nobody is the one.
std::optional<Error> RankWatch::standstill(Time now) const {
  const Heard* stuck = nullptr;
  for (const Heard& of : ranks_) {
    if (of.word.done != 0 || of.word.step < 0 || now - of.moved <= limits_.standstill) return std::nullopt;
    if (of.word.waits_for < 0 && stuck == nullptr) stuck = &of;
  }
  if (stuck == nullptr) stuck = ranks_.data();
  const auto rank = static_cast<std::uint32_t>(stuck - ranks_.data());
  return lost(fmt::format("{} stands still {}: no rank began an instruction for {:.0f} s", place_of(rank), step_text(stuck->word),
                          seconds(limits_.standstill)));
}

}  // namespace plimsoll
