#pragma once

#include <limits>

#include "core/plan/block_chain.h"
#include "sim/planner/chains/step_curve.h"

namespace plimsoll {

/// How a chain's curve is computed.
struct ChainCurveLimits {
  std::size_t most_steps = 0;       ///< of the curve of any stretch of blocks; 0: by the chain's length
  Thinning way = Thinning::kAbove;  ///< how a curve with more of them is thinned
  unsigned threads = 0;             ///< 0: one a core
  /// Of one budget: steps that no schedule within so many bytes and seconds has are left out, so that those that matter need
  /// not be thinned. The curve then says nothing of other budgets.
  Bytes most_bytes{std::numeric_limits<std::int64_t>::max()};
  double most_seconds = std::numeric_limits<double>::infinity();
};

/// The least time of a chain for every amount of memory, among schedules that keep what they have kept until its
/// backward ("memory persistent"): the recurrence of Beaumont et al. over stretches of blocks, with whole curves in place
/// of tables of memory slots. Bytes are never rounded; a curve with too many steps is thinned.
class ChainCurve {
 public:
  /// `chain` has at least one block, each with at least one option, and sizes with a sum below 2^62; it must outlive this.
  explicit ChainCurve(const BlockChain& chain, const ChainCurveLimits& limits = {});

  /// The curve of the whole chain. Its first step is exact even when others are not.
  [[nodiscard]] const StepCurve& steps() const { return cell(0, blocks() - 1); }

  /// That of blocks [first, last] between their input and the gradient at their end.
  [[nodiscard]] const StepCurve& of(std::size_t first, std::size_t last) const { return cell(first, last); }

  /// False when steps were thinned out.
  [[nodiscard]] bool exact() const { return exact_; }

  /// The schedule of the last step within `budget`, which must not be below the first one's bytes. Not for kBelow.
  [[nodiscard]] ChainSchedule schedule(Bytes budget) const;

 private:
  [[nodiscard]] std::size_t blocks() const { return chain_.blocks.size(); }
  [[nodiscard]] std::size_t index(std::size_t first, std::size_t last) const { return first * blocks() + last; }
  [[nodiscard]] const StepCurve& cell(std::size_t first, std::size_t last) const { return cells_[index(first, last)]; }
  void leave_out(std::size_t first, std::size_t last, const ChainCurveLimits& limits, StepCurve& curve) const;
  [[nodiscard]] Bytes room_to_pass(std::size_t first, std::size_t last);
  [[nodiscard]] StepCurve one_block(std::size_t block) const;
  [[nodiscard]] std::vector<std::size_t> cuts_by_promise(std::size_t first, std::size_t last) const;
  [[nodiscard]] StepCurve stretch(std::size_t first, std::size_t last);
  void append(std::size_t first, std::size_t last, Bytes bytes, ChainSchedule& schedule) const;

  const BlockChain& chain_;
  std::vector<double> least_;   ///< seconds of all blocks before this one, each by its fastest option
  std::vector<double> passed_;  ///< seconds of passing all blocks before this one
  std::vector<Bytes>
      room_inside_;  ///< by first block: of passing the blocks between the ends of the longest stretch so far
  std::vector<StepCurve> cells_;  ///< by first and last block
  bool exact_ = true;
};

}  // namespace plimsoll
