#pragma once

#include <cstdint>
#include <vector>

#include "core/schedule/pipeline_schedule.h"

namespace plimsoll {

/// Walks all ranks through their orders at once, as far as data dependencies let them, in time linear in the ops.
/// The ids of the ops must be in range, and each (stage, micro-batch) must stand on one rank.
class OrderWalk {
 public:
  explicit OrderWalk(const PipelineSchedule& schedule)
      : schedule_(schedule),
        rank_of_(rank_of_cells(schedule)),
        done_(schedule.cells(), 0),
        next_(schedule.ranks(), 0) {}

  /// Calls visit(RankId, index into the rank's order) for every op that can run, each after all that it needs. Of an
  /// overlapped pair, which runs when both can, the backward follows its forward immediately.
  template <typename Visit>
  void run(Visit&& visit) {
    for (std::size_t rank = schedule_.ranks(); rank-- > 0;) awake_.push_back(RankId(rank));
    while (!awake_.empty()) {
      const RankId rank = awake_.back();
      awake_.pop_back();
      advance(rank, visit);
    }
  }

  /// How many ops of the rank ran; fewer than it has when it waits for something that never comes.
  [[nodiscard]] std::size_t ran(std::size_t rank) const { return next_[rank]; }

  [[nodiscard]] RankId rank_of(std::size_t cell) const { return rank_of_[cell]; }

  /// The op whose result `op` waits for now; its own (stage, micro-batch) one when that is missing.
  [[nodiscard]] PipelineOp awaited(const PipelineOp& op) const {
    using enum PipelineWork;
    if (op.work == kForward) return {kForward, false, StageId(op.stage.index - 1), op.micro_batch};
    if (op.work == kWeightGradient) return {kInputGradient, false, op.stage, op.micro_batch};
    if ((done_[schedule_.cell(op)] & kForwardDone) == 0) return {kForward, false, op.stage, op.micro_batch};
    return {kInputGradient, false, StageId(op.stage.index + 1), op.micro_batch};
  }

  /// True when everything that `op` needs has run.
  [[nodiscard]] bool ready(const PipelineOp& op) const {
    const std::size_t cell = schedule_.cell(op);
    if (op.work == PipelineWork::kForward) {
      return op.stage.index == 0 || (done_[cell - schedule_.micro_batches] & kForwardDone) != 0;
    }
    if (op.work == PipelineWork::kWeightGradient) return (done_[cell] & kGradientDone) != 0;
    const bool is_last = op.stage.index + 1 == schedule_.stages;
    return (done_[cell] & kForwardDone) != 0 &&
           (is_last || (done_[cell + schedule_.micro_batches] & kGradientDone) != 0);
  }

 private:
  template <typename Visit>
  void advance(RankId rank, Visit&& visit) {
    const auto& order = schedule_.orders[rank.index];
    std::size_t& next = next_[rank.index];
    while (next < order.size() && ready(order[next])) {
      const bool pair = order[next].with_next;
      if (pair && !ready(order[next + 1])) return;
      for (const std::size_t end = next + (pair ? 2 : 1); next < end; ++next) {
        visit(rank, next);
        finish(order[next], rank);
      }
    }
  }

  void finish(const PipelineOp& op, RankId rank) {
    const std::size_t cell = schedule_.cell(op);
    if (op.work == PipelineWork::kForward) {
      done_[cell] |= kForwardDone;
      if (op.stage.index + 1 < schedule_.stages) wake(cell + schedule_.micro_batches, rank);
    } else if (sends_gradient(op.work)) {
      done_[cell] |= kGradientDone;
      if (op.stage.index > 0) wake(cell - schedule_.micro_batches, rank);
    }
  }

  void wake(std::size_t cell, RankId waker) {
    if (rank_of_[cell] != waker) awake_.push_back(rank_of_[cell]);
  }

  static constexpr std::uint8_t kForwardDone = 1;
  static constexpr std::uint8_t kGradientDone = 2;
  const PipelineSchedule& schedule_;
  std::vector<RankId> rank_of_;
  std::vector<std::uint8_t> done_;
  std::vector<std::size_t> next_;
  std::vector<RankId> awake_;
};

}  // namespace plimsoll
