#pragma once

#include <cstdint>

#include "core/base/result.h"
#include "core/model/model_spec.h"
#include "core/model/recipe.h"
#include "core/model/tensor_slice.h"
#include "core/platform/platform.h"
#include "core/schedule/pipeline_schedule.h"
#include "sim/planner/ranks/steady_pipeline.h"

namespace plimsoll {

/// One training spread over ranks: a pipeline of stages, in several replicas that pass different micro-batches, or
/// slices of them, each rank of which may be several that share its layers.
struct RankJob {
  ModelSpec spec;
  Recipe recipe;              ///< of the whole: `accumulate` counts the micro-batches of all replicas
  Platform platform;          ///< of one rank; all are alike
  PipelineSchedule schedule;  ///< of one replica; a stage is a stretch of neighbouring blocks
  std::vector<std::uint32_t> stage_blocks = {};  ///< how many; empty: all equally many
  std::uint32_t replicas = 1;  ///< of the weights; 1 where each stage has its own number, which the schedule says
  std::uint32_t context = 1;   ///< neighbours of them that pass the same micro-batches, each a slice of their sequences
  std::uint32_t tensor = 1;  ///< ranks that share each layer (Shoeybi et al. 2019); heads and widths must divide
  bool sequence_parallel = false;  ///< these share the rows of norms and residuals too (Korthikanti et al. 2022)
  std::int64_t zero =
      0;  ///< 1: each replica keeps and updates its part of the optimizer's states; 2: and of gradients; 3: and of weights
  Bytes bucket = Bytes(25'000'000);  ///< gradients of that many bytes at most are summed over replicas in one piece

  std::uint32_t experts = 1;  ///< replicas, neighbours, that share each mixture's experts (Lepikhin et al. 2020); must divide both

  bool evaluation = false;  ///< the plans get an "evaluation" body: each replica passes the same held-out batch

  /// For how many passes sent bytes are used for nothing else, lest what arrives there wait for what was sent; 0: two rounds of
  /// the pipeline, and where that does not do, all of the step.
  std::uint32_t sent_for = 0;

  /// Replicas, or groups of them that share sequences, which pass micro-batches of their own.
  [[nodiscard]] std::uint32_t data_ranks() const { return replicas / context; }
  /// That a replica passes in a step; all of the step's, where they go round.
  [[nodiscard]] std::uint32_t micro_batches() const { return micro_batches_of_step(schedule); }
  /// Whether the pipeline drains before each update.
  [[nodiscard]] bool flushes() const { return schedule.weights == WeightRule::kFlush; }
  [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(schedule.ranks()) * replicas * tensor; }
  /// Places of the pipeline; a stage whose micro-batches go round its ranks is one.
  [[nodiscard]] std::uint32_t places() const { return static_cast<std::uint32_t>(schedule.ranks_of_model()); }
  [[nodiscard]] std::uint32_t replicas_of(std::uint32_t place) const {
    return schedule.goes_round() ? schedule.replicas[place] : replicas;
  }
  /// Those that share layers have neighbouring ranks, and then the replicas of a stage.
  [[nodiscard]] std::uint32_t rank_at(std::uint32_t place, std::uint32_t replica, std::uint32_t slice) const {
    if (schedule.goes_round()) return first_rank_of(schedule.replicas, place) + replica;
    return (place * replicas + replica) * tensor + slice;
  }
  [[nodiscard]] std::uint32_t place_of(std::uint32_t rank) const {
    if (!schedule.goes_round()) return rank / tensor / replicas;
    std::uint32_t place = 0;
    while (rank >= first_rank_of(schedule.replicas, place + 1)) ++place;
    return place;
  }
  [[nodiscard]] std::uint32_t replica_of(std::uint32_t rank) const {
    return schedule.goes_round() ? rank - rank_at(place_of(rank), 0, 0) : rank / tensor % replicas;
  }
  /// Which part of the experts a replica has, and the first of those with whom it shares them.
  [[nodiscard]] TensorShare expert_share(std::uint32_t replica) const { return {replica % experts, experts}; }
  [[nodiscard]] std::uint32_t first_sharer(std::uint32_t replica) const { return replica / experts * experts; }
  [[nodiscard]] std::uint32_t slice_of(std::uint32_t rank) const { return rank % tensor; }
};

/// Refuses what does not divide, and what cannot run on several ranks yet, by name.
Result<void> check_job(const RankJob& job);

/// One rank's share of a computer that `ranks` of them run on: a GPU of its own where the computer has such, its part of the
/// other memory, with queues to the other ranks behind it.
Platform rank_platform(const Platform& computer, std::uint32_t ranks, const Link& between);

}  // namespace plimsoll
