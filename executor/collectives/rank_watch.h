#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "executor/collectives/job.h"

namespace plimsoll {

/// What a rank says of itself four times a second.
struct RankWord {
  std::int64_t step = -1;         ///< newest that it began; −1: none yet
  std::int64_t instructions = 0;  ///< that it began so far
  std::int64_t waits_for = -1;    ///< a rank; −1: it waits for none
  std::int64_t done = 0;          ///< 1: it leaves
  std::int64_t pauses = 0;        ///< 1: between stretches of steps it evaluates or saves
};

/// Where a rank runs.
struct RankHome {
  std::string host;
  std::int64_t process = 0;
};

/// As `read_homes` reads it.
std::string home_of_this_process();
/// What every rank said of its home, by rank.
std::vector<RankHome> read_homes(const std::vector<std::string>& words);

/// Decides which rank is lost, from what was heard and when. Knows no thread, no message and no clock of its own.
class RankWatch {
 public:
  using Time = std::chrono::steady_clock::time_point;

  RankWatch(std::uint32_t own, std::vector<RankHome> homes, JobLimits limits, Time now);

  void heard(std::uint32_t rank, const RankWord& word, Time now);
  /// The process of that rank is gone.
  void ended(std::uint32_t rank);
  /// The first loss that is seen, with rank, place and step; nothing while all goes well.
  [[nodiscard]] std::optional<Error> loss(Time now) const;

 private:
  struct Heard {
    RankWord word;
    Time at;     ///< newest word
    Time moved;  ///< newest word with more instructions than the one before
    bool ended = false;
  };

  [[nodiscard]] std::string place_of(std::uint32_t rank) const;
  [[nodiscard]] std::optional<Error> standstill(Time now) const;

  std::uint32_t own_;
  std::vector<RankHome> homes_;
  JobLimits limits_;
  std::vector<Heard> ranks_;
};

}  // namespace plimsoll
