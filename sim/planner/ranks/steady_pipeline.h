#pragma once

#include <cstdint>
#include <vector>

#include "core/schedule/pipeline_schedule.h"

namespace plimsoll {

/// A pipeline that does not drain between steps: place r is always `ahead[r]` forward passes ahead of its backward passes.
///
/// Micro-batches count on from step to step: number q of a step is, from `micro_batches` on, one of a later step. A step of place
/// r runs the forward passes of q in [ahead[r], ahead[r] + micro_batches) and the backward passes of [0, micro_batches). A pass
/// with offset o (a place's forward pass: its `ahead`; a backward pass: 0) of micro-batch q runs ⌊(q − o) ÷ micro_batches⌋ steps
/// after the step that counts.
struct SteadyPipeline {
  WeightRule rule = WeightRule::kStash;
  std::uint32_t micro_batches =
      1;  ///< of one replica in a step; 1 where each is an update of its own; all, where they go round
  std::vector<std::uint32_t> ahead;     ///< by place; of all its ranks together
  std::vector<std::uint32_t> replicas;  ///< by place, where micro-batches go round them: an update takes in one of each

  [[nodiscard]] bool goes_round() const { return !replicas.empty(); }
  /// Which of the micro-batches one after another, of a place's replicas, are one replica's: every so manieth.
  [[nodiscard]] std::uint32_t stride(std::uint32_t place) const { return goes_round() ? replicas[place] : 1; }
  /// That a place makes in a step.
  [[nodiscard]] std::uint32_t updates(std::uint32_t place) const {
    return goes_round() ? micro_batches / replicas[place] : 1;
  }

  /// How many steps before this one micro-batch q's pass at that offset ran.
  [[nodiscard]] std::uint32_t age(std::uint32_t q, std::uint32_t offset) const;
  /// The number by which this step's forward pass on that place takes the micro-batch that stands in its step where q does.
  [[nodiscard]] std::uint32_t forward_number(std::uint32_t q, std::uint32_t place) const;

  /// Old versions of its weights that a place keeps beside the newest.
  [[nodiscard]] std::uint32_t older_versions(std::uint32_t place) const;
  /// How many updates old the version is that the forward pass of q sees; its backward pass sees the same one.
  [[nodiscard]] std::uint32_t forward_lag(std::uint32_t place, std::uint32_t q) const;
  [[nodiscard]] std::uint32_t backward_lag(std::uint32_t place, std::uint32_t q) const;
  /// Of weights that the last place reads and the first one updates, what arrived so many steps before is read: the version that
  /// the micro-batch saw at the first place.
  [[nodiscard]] std::uint32_t shared_lag() const;
};

/// Micro-batches that one replica passes in a step of that schedule: one where each is an update of its own. Where they
/// go round ranks of different numbers, all of the step, which is a whole number of rounds of each stage.
std::uint32_t micro_batches_of_step(const PipelineSchedule& schedule);

/// What a schedule without a flush repeats. Its orders must be forward passes ahead, then one forward and one backward in turn.
SteadyPipeline steady_pipeline(const PipelineSchedule& schedule);

}  // namespace plimsoll
