#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/planner/try_strategy.h"

namespace plimsoll {

/// A step of many micro-batches read off steps of two and three: each further one takes as long as the third, or as the busiest
/// queue works on it, and holds as much. Where all micro-batches pass a block together, loads are counted for the whole step
/// instead. Times are about right, and exact where nothing of a step but the first and the last micro-batch is of its own kind. For
/// who ranks many strategies; what is chosen is then looked at whole (confirmed_best). May be asked from several threads.
class FewerMicroBatches {
 public:
  /// Steps of fewer micro-batches than this are looked at whole.
  static constexpr std::int64_t kWorthwhile = 16;

  /// `whole` is prepared, but for this.
  FewerMicroBatches(const SearchProblem& whole, const std::shared_ptr<SharedSteps>& shared);
  FewerMicroBatches(const FewerMicroBatches&) = delete;
  FewerMicroBatches& operator=(const FewerMicroBatches&) = delete;

  /// As try_strategy of the whole step would; `instructions` are those that were written.
  [[nodiscard]] Result<Candidate> look(const SearchProblem& whole, const Strategy& strategy, const Look& look) const;

  /// The two steps that are looked at, the longer one first.
  [[nodiscard]] const SearchProblem& longer() const { return problems_[0]; }
  [[nodiscard]] const SearchProblem& shorter() const { return problems_[1]; }
  /// Micro-batches of the whole step that the longer one has not.
  [[nodiscard]] std::int64_t further() const { return further_; }

 private:
  Recipe recipes_[2];
  std::vector<SearchProblem> problems_;
  std::int64_t further_ = 0;
};

/// Takes the best of `candidates` out of them, as they were read off, and looks at them whole: first the best of those whose
/// micro-batches run one by one, of which is read off what is, then a few at a time what reads better than the best so far. Best first.
Result<std::vector<Candidate>> confirmed_best(const SearchProblem& problem, const Look& look, unsigned threads,
                                              std::vector<Candidate>& candidates);

/// The problem without steps of fewer micro-batches.
SearchProblem whole_step(SearchProblem problem);

}  // namespace plimsoll
