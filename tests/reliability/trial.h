#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace plimsoll::test {

/// What is done to a run.
enum class Harm {
  kKill,
  kPowerLoss,
  kDiskFull,
  kIoError,
  kLyingDisk,  ///< a loss of power on a disk that does not sync: promises must break, or the trials see nothing
  kOverQuota,  ///< the disk is full for this user
};

std::string to_text(Harm harm);

/// What one trial came to.
struct Verdict {
  std::string promise = "kept";  ///< else in what way it was broken
  bool harmed = false;           ///< the run did not come to its end
  bool resumed = false;          ///< there was something to go on from
  std::int64_t reported = 0;     ///< steps that the run had told of
  std::int64_t promised = 0;     ///< of which so many had to outlast it
  std::int64_t found = 0;        ///< and so many did
  std::string said;              ///< the harmed run's last words

  [[nodiscard]] bool kept() const { return promise == "kept"; }
};

/// Trains a tiny model with the built program, harms the run at a moment that `seed` draws, resumes it with the
/// program, and compares every loss with those of a run that was never stopped. Durability, steps between checkpoints,
/// where states lie, warm-up and what is lost with the power follow from the seed. Runs and what they are compared with
/// are made once a kind.
class Trials {
 public:
  /// `program`: the built program; `trouble`: the library disk_trouble; `text`: what to train on.
  Trials(std::string program, std::string trouble, std::string text);

  Verdict run(Harm harm, std::uint64_t seed);
  /// The trial's run in words, to be repeated by hand.
  [[nodiscard]] static std::string describe(Harm harm, std::uint64_t seed);

 private:
  struct Undisturbed {
    std::vector<std::string> losses;  ///< as the program prints them
    long operations = 0;
    double seconds = 0;
  };
  const Undisturbed& undisturbed(const std::string& options);

  std::string program_, trouble_, text_;
  std::map<std::string, Undisturbed> known_;  ///< by the run's options
};

}  // namespace plimsoll::test
