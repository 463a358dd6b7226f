#pragma once

#include <span>

#include "formats/runs/safety_answer.h"
#include "session/run_session.h"

namespace plimsoll {

/// What keeping the state will cost this run, by a trial beside its run file with what the executor holds; nothing with
/// Durability::kNone. `plans`: of all its ranks; `step`: 0 where nobody knows yet how long one takes. A disk that fails throws
/// EnvironmentError.
Result<std::optional<SafetyAnswer>> predict_safety(const RunRequest& request, std::span<const Plan> plans, Nanoseconds step,
                                                   const Executor& executor);

/// What it cost so far.
class SafetySpent {
 public:
  /// What is learnt is the median of seven, after two that find fresh room on the disk.
  static constexpr std::size_t kFresh = 2, kFirst = 9;

  void add(const SavedState& state);
  /// What each of the later ones will take, by the first: nothing but right after the last of those.
  [[nodiscard]] std::optional<Nanoseconds> foretold() const;
  /// Puts what was measured beside what was predicted, if anything was kept.
  void put_into(SafetyAnswer& answer) const;

 private:
  std::vector<Nanoseconds> took_;
  Bytes bytes_;  ///< of the last one
};

}  // namespace plimsoll
