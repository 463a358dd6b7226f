#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/schedule/pipeline_op.h"

namespace plimsoll {

using RankId = StrongId<struct RankTag>;  ///< a device of the pipeline

/// Which version of its weights a stage uses for a micro-batch.
enum class WeightRule : std::uint8_t {
  kFlush,           ///< all micro-batches of a step see the same weights; updates wait for the pipeline to drain
  kStash,           ///< every backward updates; a micro-batch's backward uses the version its forward saw (PipeDream)
  kVerticalSync,    ///< as kStash, and every stage uses the version that the first stage saw
  kDoubleBuffered,  ///< an update every step, delayed by one: the versions of two steps live side by side (2BW)
};

/// "flush", "stash", "vertical_sync", "double_buffered".
std::string_view to_text(WeightRule rule);

/// Activations that wait elsewhere between their forward and their backward: they leave `from` for `to` when `after`
/// has ended, and are back when the backward of the same stage and micro-batch starts.
struct StashMove {
  RankId from;
  RankId to;
  PipelineOp after;
};

/// Who does what in which order. Rank r executes orders[r] strictly in that order, one op at a time.
struct PipelineSchedule {
  std::string name;
  std::uint32_t stages = 0;
  std::uint32_t micro_batches = 0;
  WeightRule weights = WeightRule::kFlush;
  std::vector<std::vector<PipelineOp>> orders;
  std::vector<StashMove> moves;
  /// Ranks of each stage, where micro-batches go round the stage's ranks: m is passed by the one numbered m mod replicas[stage]
  /// (PipeDream, SOSP 2019, section 3.2). Empty: micro-batches do not go round.
  std::vector<std::uint32_t> replicas;

  [[nodiscard]] std::size_t ranks() const { return orders.size(); }
  /// Ranks that hold the model once between them.
  [[nodiscard]] std::size_t ranks_of_model() const { return replicas.empty() ? ranks() : replicas.size(); }
  [[nodiscard]] bool goes_round() const { return !replicas.empty(); }
  [[nodiscard]] std::size_t cells() const { return std::size_t{stages} * micro_batches; }
  /// Index of (stage, micro-batch) in tables of one entry for each.
  [[nodiscard]] std::size_t cell(StageId stage, MicroBatchId micro_batch) const {
    return std::size_t{stage.index} * micro_batches + micro_batch.index;
  }
  [[nodiscard]] std::size_t cell(const PipelineOp& op) const { return cell(op.stage, op.micro_batch); }
};

/// The rank of every (stage, micro-batch): the one that runs its forward.
std::vector<RankId> rank_of_cells(const PipelineSchedule& schedule);

/// The first rank of a stage whose micro-batches go round; of the stage behind the last: how many ranks there are.
std::uint32_t first_rank_of(const std::vector<std::uint32_t>& replicas, std::size_t stage);

/// Micro-batches after which the rounds of all stages end together: the least common multiple. More than 2^32 - 1 stands for any
/// such number: no schedule has as many.
std::uint64_t common_round(const std::vector<std::uint32_t>& replicas);

}  // namespace plimsoll
