#include "sim/parallel/rank_memory.h"

#include <algorithm>

#include "sim/parallel/collectives.h"
#include "sim/schedule/stage_memory.h"

namespace plimsoll {
namespace {

Bytes whole(double bytes) { return Bytes(static_cast<std::int64_t>(bytes + 0.5)); }

/// The most that one rank's order holds at once, of its own stages.
double most_activations(const std::vector<PipelineOp>& order, const std::vector<StageCostParts>& parts) {
  double held = 0, most = 0;
  for (const PipelineOp& op : order) {
    const PieceCost& cost = parts[op.stage.index].cost;
    if (op.work == PipelineWork::kForward) held += cost.saved;
    most = std::max(most, held + cost.working);
    if (ends_backward(op.work)) held -= cost.saved;
  }
  return most;
}

/// Ranks that pass activations on to others hold what the schedule's own count says.
double most_with_moves(std::size_t rank, const PipelineSchedule& schedule, const ScheduleTiming& timing,
                       const StagePieces& pieces, const std::vector<StageCostParts>& parts) {
  const double peak = peak_activations(schedule, timing)[rank];
  const double layers = static_cast<double>(parts[rank % parts.size()].layers) * static_cast<double>(schedule.stages) /
                        static_cast<double>(schedule.ranks());
  return peak * layers * pieces.block.saved + parts[rank % parts.size()].cost.working;
}

/// Units that ZeRO-3 gathers: the one that is read and the next; ZeRO-2's bucket of gradients.
double gathered(const ParallelQuestion& question, const StagePieces& pieces) {
  const double unit = std::max({pieces.block.parameters, pieces.embedding.parameters, pieces.head.parameters});
  const double gradient = std::max({pieces.block.gradients, pieces.embedding.gradients, pieces.head.gradients});
  if (question.layout.zero == 3) return pieces.block.parameters + unit + gradient;
  return question.layout.zero == 2 ? gradient : 0;
}

}  // namespace

std::vector<RankMemory> rank_memory(const ParallelQuestion& question, const StagePieces& pieces,
                                    const std::vector<StageCostParts>& parts, const PipelineSchedule& schedule,
                                    const ScheduleTiming& timing) {
  const ParallelLayout& layout = question.layout;
  const std::vector<double> versions = weight_copies(schedule);
  const auto owned = stages_of_ranks(schedule);
  std::vector<RankMemory> memory(schedule.ranks());
  for (std::size_t rank = 0; rank < schedule.ranks(); ++rank) {
    PieceCost all;
    for (const std::uint32_t stage : owned[rank]) all += parts[stage].cost;
    const double most = schedule.moves.empty() ? most_activations(schedule.orders[rank], parts)
                                               : most_with_moves(rank, schedule, timing, pieces, parts);
    RankMemory& own = memory[rank];
    const double copies = schedule.weights == WeightRule::kFlush ? 1 : versions[rank];
    own.parameters = whole(copies * shared_bytes(layout, all.parameters, all.expert_parameters, layout.zero >= 3));
    own.gradients = whole(shared_bytes(layout, all.gradients, all.expert_gradients, layout.zero >= 2));
    own.optimizer = whole(shared_bytes(layout, all.states, all.expert_states, layout.zero >= 1));
    own.activations = whole(most);
    own.workspace = whole(pieces.workspace + gathered(question, pieces));
  }
  return memory;
}

}  // namespace plimsoll
