#include "sim/parallel/stage_plan.h"

#include <algorithm>

#include "sim/parallel/collectives.h"
#include "sim/parallel/slowed_backward.h"

namespace plimsoll {
namespace {

/// What is left of a collective of which a micro-batch's passes can hide all but one block's, as far as they are long enough.
double left_over(double collective, double passes, double blocks, double share) {
  const double of_one = collective / std::max(1.0, blocks);
  return std::max(of_one, collective - hidden_beside(collective - of_one, passes, share));
}

/// Parameters gathered before they are read, gradients scattered after they are made (ZeRO-3), or the latter alone
/// (ZeRO-2).
void add_shards(StageCostParts& stage, const ParallelQuestion& question) {
  const ParallelLayout& layout = question.layout;
  if (layout.zero < 2) return;
  const auto blocks = static_cast<double>(stage.layers);
  const double share = question.cluster.collective_share;
  const double gather = layout.zero < 3
                            ? 0
                            : seconds_among_data_ranks(Collective::kAllGather, stage.cost.parameters,
                                                       stage.cost.expert_parameters, layout, question.cluster);
  const double scatter = seconds_among_data_ranks(Collective::kReduceScatter, stage.cost.gradients,
                                                  stage.cost.expert_gradients, layout, question.cluster);
  stage.shard_forward = gather > 0 ? left_over(gather, stage.cost.forward, blocks, share) : 0;
  stage.shard_backward = left_over(gather + scatter, stage.cost.input_gradient + stage.cost.weight_gradient, blocks, share);
}

/// A stage that has both ends of the model has a tied matrix once.
PieceCost head_beside_embedding(const StagePieces& pieces) {
  PieceCost head = pieces.head;
  const PieceCost rest = pieces.head.without(pieces.embedding);
  for (const auto field :
       {&PieceCost::update, &PieceCost::parameters, &PieceCost::gradients, &PieceCost::states, &PieceCost::elements}) {
    head.*field = rest.*field;
  }
  return head;
}

double hop_bytes(const ParallelQuestion& question) {
  const ParallelLayout& layout = question.layout;
  const double rows = static_cast<double>(layout.micro_batch * question.recipe.sequence / layout.context_ranks);
  // Tensor ranks send a part each, which the receivers gather over NVLink (Narayanan et al. 2021, section 4.1).
  return rows * static_cast<double>(question.spec.hidden * size_of(compute_dtype(question.recipe.precision))) /
         static_cast<double>(layout.tensor_ranks);
}

}  // namespace

std::vector<StageCostParts> stage_parts(const ParallelQuestion& question, const StagePieces& pieces,
                                        std::uint32_t stages) {
  std::vector<StageCostParts> parts(stages);
  for (std::uint32_t s = 0; s < stages; ++s) {
    StageCostParts& stage = parts[s];
    stage.layers = layers_of_stretch(question.spec.layers, stages, s);
    stage.cost = pieces.block.times(static_cast<double>(stage.layers));
    stage.cost.working = pieces.block.working;
    if (s == 0) stage.cost += pieces.embedding;
    if (s + 1 == stages) stage.cost += s == 0 && question.spec.tied_head ? head_beside_embedding(pieces) : pieces.head;
    add_shards(stage, question);
  }
  return parts;
}

std::vector<RankCosts> rank_costs(const ParallelQuestion& question, const std::vector<StageCostParts>& parts,
                                  const std::vector<double>& slow) {
  const double hop =
      hop_seconds(hop_bytes(question), hops_cross_nodes(question.layout, question.cluster), question.cluster);
  std::vector<RankCosts> costs;
  for (std::size_t s = 0; s < parts.size(); ++s) {
    costs.push_back({.forward = parts[s].forward() * slow[s],
                     .input_gradient = parts[s].input_gradient() * slow[s],
                     .weight_gradient = parts[s].cost.weight_gradient * slow[s],
                     .hop = hop});
  }
  return costs;
}

std::vector<std::vector<std::uint32_t>> stages_of_ranks(const PipelineSchedule& schedule) {
  std::vector<std::vector<std::uint32_t>> stages(schedule.ranks());
  for (std::size_t rank = 0; rank < schedule.ranks(); ++rank) {
    std::vector<bool> seen(schedule.stages);
    for (const PipelineOp& op : schedule.orders[rank]) seen[op.stage.index] = true;
    for (std::uint32_t s = 0; s < schedule.stages; ++s) {
      if (seen[s]) stages[rank].push_back(s);
    }
  }
  return stages;
}

}  // namespace plimsoll
