#include "sim/parallel/predict_parallel.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/schedule/verify_schedule.h"
#include "sim/cost/efficiencies.h"
#include "sim/parallel/collectives.h"
#include "sim/parallel/gradient_sync.h"
#include "sim/parallel/rank_memory.h"
#include "sim/schedule/make_schedule.h"
#include "sim/stack/device_room.h"

namespace plimsoll {

double ParallelAnswer::model_tflops_per_gpu() const {
  return step_seconds > 0 ? model_flops / step_seconds / static_cast<double>(layout.gpus()) * 1e-12 : 0;
}

double ParallelAnswer::hardware_tflops_per_gpu() const {
  return step_seconds > 0 ? hardware_flops / step_seconds / static_cast<double>(layout.gpus()) * 1e-12 : 0;
}

namespace {

/// How slow each rank of the pipeline is, in one data replica: its slowest tensor or context rank decides.
using Pace = std::vector<double>;

Result<Pace> pace_of_replica(const ParallelQuestion& question, std::int64_t replica) {
  const ParallelLayout& layout = question.layout;
  const std::int64_t inner = layout.tensor_ranks * layout.context_ranks;
  Pace pace(static_cast<std::size_t>(layout.stages), 1);
  for (const SlowRank& slow : question.slow) {
    if (slow.rank < 0 || slow.rank >= layout.gpus() || slow.factor <= 0) {
      return fail(
          {.kind = ErrorKind::kInput,
           .what = fmt::format("there is no rank {} of {}, or {} is no factor", slow.rank, layout.gpus(), slow.factor),
           .where = "--slow-rank",
           .remedy = "for example --slow-rank 3=1.2"});
    }
    if (slow.rank / inner % layout.data_ranks != replica) continue;
    double& own = pace[static_cast<std::size_t>(slow.rank / inner / layout.data_ranks)];
    own = std::max(own, slow.factor);
  }
  return pace;
}

/// Paces of the replicas that are simulated: each different one, or all.
Result<std::vector<Pace>> paces(const ParallelQuestion& question) {
  std::vector<Pace> all;
  for (std::int64_t replica = 0; replica < question.layout.data_ranks; ++replica) {
    if (!question.exact && question.slow.empty() && replica > 0) break;
    auto pace = pace_of_replica(question, replica);
    if (!pace) return fail(pace.error());
    if (question.exact || std::find(all.begin(), all.end(), *pace) == all.end()) all.push_back(std::move(*pace));
  }
  return all;
}

Result<PipelineSchedule> schedule_of(const ParallelLayout& layout) {
  ScheduleRequest request{.name = layout.schedule,
                          .ranks = static_cast<std::uint32_t>(layout.stages),
                          .micro_batches = static_cast<std::uint32_t>(layout.micro_batches()),
                          .chunks = {},
                          .group = {}};
  if (layout.stages == 1)
    request.name = "1f1b";
  else if (layout.chunks > 1)
    request.chunks = static_cast<std::uint32_t>(layout.chunks);
  auto schedule = make_schedule(request);
  if (!schedule) {
    Error error = schedule.error();
    if (error.where == "--micro-batches") error.where = "--global-batch";
    return fail(std::move(error));
  }
  return schedule;
}

/// One data replica in time.
struct Replica {
  Pace pace;
  StageCosts costs;
  ScheduleTiming timing;
  BackwardDelays delays;

  [[nodiscard]] double seconds(Ticks ticks) const { return costs.units(ticks); }
  [[nodiscard]] double last_op(std::size_t rank) const { return seconds(timing.ops[rank].back().end); }
};

Result<Replica> run_replica(const ParallelQuestion& question, const std::vector<StageCostParts>& parts,
                            const PipelineSchedule& schedule, Pace pace) {
  std::vector<double> slow(parts.size(), 1);
  const auto owned = stages_of_ranks(schedule);
  for (std::size_t rank = 0; rank < owned.size(); ++rank) {
    for (const std::uint32_t stage : owned[rank]) slow[stage] = std::max(slow[stage], pace[rank]);
  }
  const PipelineShape shape{static_cast<std::uint32_t>(schedule.ranks()), schedule.stages, schedule.micro_batches};
  auto costs = uneven_costs(rank_costs(question, parts, slow), shape);
  if (!costs) return fail(costs.error());
  Replica replica{.pace = std::move(pace), .costs = std::move(*costs), .timing = {}, .delays = {}};
  replica.timing = time_schedule(schedule, replica.costs);
  replica.delays = backward_delays(question, parts, schedule, replica.timing, replica.costs.ticks_per_unit);
  return replica;
}

/// A step after its passes, rank by rank: gradients, the norm, updates.
class StepEnd {
 public:
  StepEnd(const ParallelQuestion& question, const StagePieces& pieces, const std::vector<StageCostParts>& parts,
          const PipelineSchedule& schedule, const std::vector<Replica>& replicas)
      : question_(question),
        pieces_(pieces),
        parts_(parts),
        schedule_(schedule),
        replicas_(replicas),
        owned_(stages_of_ranks(schedule)) {
    for (std::size_t rank = 0; rank < schedule.ranks(); ++rank) reduced_.push_back(reduced(rank));
    tie();
  }

  /// When the rank's gradients are those of all.
  [[nodiscard]] double reduced_at(std::size_t rank) const { return reduced_[rank]; }
  /// When it may update: once the norm of all gradients is known, where steps clip.
  [[nodiscard]] double starts_update(std::size_t rank) const {
    if (question_.recipe.clip <= 0) return reduced_[rank];
    const RankGroup all{.ranks = question_.layout.gpus(), .per_node = question_.cluster.node_gpus};
    return *std::max_element(reduced_.begin(), reduced_.end()) +
           seconds_of(Collective::kAllReduce, 4, all, question_.cluster);
  }
  [[nodiscard]] double update(std::size_t rank) const {
    double seconds = 0, slowest = 1;
    for (const std::uint32_t stage : owned_[rank]) {
      const PieceCost& cost = parts_[stage].cost;
      const double own = shared_bytes(question_.layout, cost.states, cost.expert_states, question_.layout.zero >= 1);
      seconds += cost.states > 0 ? cost.update * own / cost.states : 0;
    }
    for (const Replica& replica : replicas_) slowest = std::max(slowest, replica.pace[rank]);
    return seconds * slowest;
  }
  /// Updated parameters, from who updated them to all.
  [[nodiscard]] double gather(std::size_t rank) const {
    if (question_.layout.zero != 1 && question_.layout.zero != 2) return 0;
    double bytes = 0, of_experts = 0;
    for (const std::uint32_t stage : owned_[rank]) {
      bytes += parts_[stage].cost.parameters;
      of_experts += parts_[stage].cost.expert_parameters;
    }
    return seconds_among_data_ranks(Collective::kAllGather, bytes, of_experts, question_.layout, question_.cluster);
  }
  [[nodiscard]] double end(std::size_t rank) const { return starts_update(rank) + update(rank) + gather(rank); }

 private:
  [[nodiscard]] double reduced(std::size_t rank) const {
    std::vector<GradientBucket> buckets;
    double last = 0;
    for (const Replica& replica : replicas_) {
      auto own = gradient_buckets(question_, parts_, schedule_.orders[rank], replica.timing.ops[rank],
                                  replica.costs.ticks_per_unit, replica.delays);
      for (std::size_t i = 0; i < own.size() && i < buckets.size(); ++i)
        own[i].ready = std::max(own[i].ready, buckets[i].ready);
      buckets = std::move(own);
      last = std::max(last, replica.last_op(rank) + delay(replica, rank));
    }
    return plimsoll::reduced_at(buckets, last);
  }

  [[nodiscard]] double delay(const Replica& replica, std::size_t rank) const {
    double most = 0;
    for (const std::uint32_t stage : owned_[rank]) most = std::max(most, replica.delays.end.empty() ? 0 : replica.delays.end[stage]);
    return most;
  }

  /// First and last stage share a matrix and sum its gradient.
  void tie() {
    const std::size_t first = 0, last = rank_of_last();
    if (!question_.spec.tied_head || first == last) return;
    const bool apart = hops_cross_nodes(question_.layout, question_.cluster);
    const RankGroup pair{.ranks = 2, .per_node = apart ? 1 : 2};
    const double seconds = seconds_of(Collective::kAllReduce, pieces_.embedding.gradients, pair, question_.cluster);
    reduced_[first] = reduced_[last] = std::max(reduced_[first], reduced_[last]) + seconds;
  }

  [[nodiscard]] std::size_t rank_of_last() const {
    for (std::size_t rank = 0; rank < owned_.size(); ++rank) {
      if (std::find(owned_[rank].begin(), owned_[rank].end(), schedule_.stages - 1) != owned_[rank].end()) return rank;
    }
    return 0;
  }

  const ParallelQuestion& question_;
  const StagePieces& pieces_;
  const std::vector<StageCostParts>& parts_;
  const PipelineSchedule& schedule_;
  const std::vector<Replica>& replicas_;
  std::vector<std::vector<std::uint32_t>> owned_;
  std::vector<double> reduced_;
};

/// Where a rank's step goes, in the replica whose passes end last.
RankSeconds seconds_of_rank(std::size_t rank, const PipelineSchedule& schedule,
                            const std::vector<StageCostParts>& parts, const std::vector<Replica>& replicas,
                            const StepEnd& end) {
  const auto slowest = std::max_element(replicas.begin(), replicas.end(), [&](const Replica& a, const Replica& b) {
    return a.last_op(rank) < b.last_op(rank);
  });
  RankSeconds seconds;
  const double pace = slowest->pace[rank];
  for (const PipelineOp& op : schedule.orders[rank]) {
    const StageCostParts& stage = parts[op.stage.index];
    if (op.work == PipelineWork::kForward) {
      seconds.forward += pace * stage.cost.forward;
      seconds.tensor_sends += pace * stage.cost.forward_sends;
      seconds.shard_sends += pace * stage.shard_forward;
      seconds.expert_sends += pace * stage.cost.exchange_forward;
    }
    if (sends_gradient(op.work)) {
      seconds.backward += pace * stage.cost.input_gradient;
      seconds.tensor_sends += pace * stage.cost.backward_sends;
      seconds.shard_sends += pace * stage.shard_backward;
      seconds.expert_sends += pace * stage.cost.exchange_backward;
    }
    if (ends_backward(op.work)) seconds.backward += pace * stage.cost.weight_gradient;
  }
  const double busy =
      seconds.forward + seconds.backward + seconds.tensor_sends + seconds.shard_sends + seconds.expert_sends;
  const double last = slowest->last_op(rank);
  seconds.bubble = std::max(0.0, last - busy);
  seconds.gradient_sends = end.reduced_at(rank) - last + end.gather(rank);
  seconds.optimizer = end.update(rank);
  return seconds;
}

double total(const RankSeconds& s) {
  return s.forward + s.backward + s.tensor_sends + s.expert_sends + s.shard_sends + s.bubble + s.gradient_sends +
         s.optimizer + s.wait;
}

void name_limit(ParallelAnswer& answer) {
  const RankSeconds& s = answer.ranks[answer.last].seconds;
  const std::pair<const char*, double> shares[] = {{"compute", s.forward + s.backward},
                                                   {"tensor and context collectives", s.tensor_sends},
                                                   {"exchanges between experts", s.expert_sends},
                                                   {"gathering and scattering shards", s.shard_sends},
                                                   {"pipeline bubble", s.bubble},
                                                   {"gradients of data ranks", s.gradient_sends},
                                                   {"optimizer", s.optimizer},
                                                   {"waiting for slower ranks", s.wait}};
  const auto most = std::max_element(std::begin(shares), std::end(shares),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  answer.limit = most->first;
  answer.limit_share = answer.step_seconds > 0 ? most->second / answer.step_seconds : 0;
}

void add_rates(ParallelAnswer& answer, const ParallelQuestion& question, const std::vector<StageCostParts>& parts) {
  const ParallelLayout& layout = question.layout;
  for (const StageCostParts& stage : parts) {
    answer.model_flops += stage.cost.model_flops;
    answer.hardware_flops += stage.cost.hardware_flops;
  }
  const auto passes =
      static_cast<double>(layout.micro_batches() * layout.tensor_ranks * layout.context_ranks * layout.data_ranks);
  answer.model_flops *= passes;
  answer.hardware_flops *= passes;
  answer.samples_per_second = static_cast<double>(layout.global_batch) / answer.step_seconds;
  answer.tokens_per_second = answer.samples_per_second * static_cast<double>(question.recipe.sequence);
  const auto known = product_efficiency(question.cluster.gpu, compute_dtype(question.recipe.precision));
  answer.origin = known ? known->origin : CostOrigin::kExtrapolated;
  const Cost band = cost_of(answer.step_seconds, answer.origin);
  answer.step_low = to_seconds(band.low);
  answer.step_high = to_seconds(band.high);
}

Bytes usable_bytes(const ParallelQuestion& question) {
  StackSetup setup;
  setup.stack = Stack::kMegatron;
  setup.data_ranks = question.layout.data_ranks;
  setup.tensor_ranks = question.layout.tensor_ranks;
  setup.stages = question.layout.stages;
  setup.context_ranks = question.layout.context_ranks;
  setup.os = question.os;
  setup.desktop = question.desktop;
  return device_room(question.cluster.gpu, setup).usable;
}

/// How evenly two gates fill experts and ranks; the gating stood when the pieces were made.
void say_gating(std::vector<std::string>& said, const ParallelQuestion& question) {
  const ExpertSpec& experts = question.spec.experts;
  const ParallelLayout& layout = question.layout;
  if (!question.choices.groups) return;
  const auto gating = two_level_gating(experts, layout, *question.choices.groups);
  if (!gating) return;
  const auto own = static_cast<double>(layout.micro_batch * question.recipe.sequence / layout.context_ranks);
  const double tokens = own * static_cast<double>(layout.expert_ranks);
  const TwoLevelLoad ranks = two_level_load(*gating, tokens, layout.expert_ranks);
  const TwoLevelLoad each = two_level_load(*gating, tokens, experts.count);
  said.push_back(fmt::format("experts in {} groups of {}: a token goes to {} of the groups, then to {} experts of each",
                             gating->groups, gating->experts_per_group, gating->groups_per_token, gating->experts_per_chosen));
  said.push_back(fmt::format(
      "even, random choices: loads deviate by {:.2f} % from rank to rank, {:.2f} % from expert to expert; the fullest rank "
      "has {:.3f} times the mean, and more than {:.3f} in one of 20 exchanges",
      100 * ranks.deviation, 100 * each.deviation, ranks.fullest, ranks.seldom));
  if (experts.capacity > 0) {
    const double of_group = own / static_cast<double>(experts.groups);  // capacities hold for each group of a rank's tokens
    said.push_back(fmt::format("experts that take {:g} times the mean of {:.0f} tokens refuse {:.2g} % of what is sent to them",
                               experts.capacity, of_group,
                               100 * two_level_load(*gating, of_group, experts.count).refused(experts.capacity)));
  }
}

std::vector<std::string> assumptions(const ParallelQuestion& question) {
  std::vector<std::string> said{"layers as Megatron-LM runs them; collectives by data/calibration (keys collective.*)"};
  if (question.spec.parallel_block)
    said.push_back("attention and feed-forward layer stand side by side in this model; they are told one behind the other, with a norm and an exchange of tensor ranks more");
  if (question.layout.tensor_layout != TensorLayout::kLine) {
    said.push_back(
        "tensor ranks in a square or a cube: a layer's blocks are multiplied as one product, and wait for what is sent");
  }
  say_gating(said, question);
  if (question.spec.slides_over(question.recipe.sequence))
    said.push_back(fmt::format("blocks with a window of {} tokens take the time of such that see all", question.spec.window));
  if (question.cluster.nodes() > 1 && !question.cluster.nodes_stated)
    said.push_back(usual_nodes_text(question.cluster.node_gpus));
  if (question.cluster.peers_stated) said.push_back(peers_text(question.cluster.inside.rate));
  if (!question.cluster.network_origin.empty()) said.push_back(question.cluster.network_origin);
  const double share = question.cluster.collective_share;
  if (share > 0)
    said.push_back(fmt::format("kernels beside a collective have {:.0f} of {} multiprocessors (--collective-sms)",
                               (1 - share) * static_cast<double>(question.cluster.gpu.multiprocessors), question.cluster.gpu.multiprocessors));
  else if (question.layout.overlaps_gradients)
    said.push_back("kernels are not slowed by collectives beside them: --collective-sms says how many multiprocessors these take");
  return said;
}

ParallelAnswer put_together(const ParallelQuestion& question, const StagePieces& pieces,
                            const std::vector<StageCostParts>& parts, const PipelineSchedule& schedule,
                            const std::vector<Replica>& replicas) {
  const StepEnd end(question, pieces, parts, schedule, replicas);
  ParallelAnswer answer{.layout = question.layout};
  const auto memory = rank_memory(question, pieces, parts, schedule, replicas.front().timing);
  const auto owned = stages_of_ranks(schedule);
  for (std::size_t rank = 0; rank < schedule.ranks(); ++rank) {
    RankAnswer own{.seconds = seconds_of_rank(rank, schedule, parts, replicas, end), .memory = memory[rank]};
    for (const std::uint32_t stage : owned[rank]) own.layers += parts[stage].layers;
    answer.step_seconds = std::max(answer.step_seconds, end.end(rank));
    answer.ranks.push_back(own);
  }
  for (std::size_t rank = 0; rank < answer.ranks.size(); ++rank) {
    RankSeconds& own = answer.ranks[rank].seconds;
    own.wait = answer.step_seconds - total(own);
    const auto works = [](const RankSeconds& s) { return total(s) - s.wait - s.bubble; };
    if (works(own) > works(answer.ranks[answer.last].seconds)) answer.last = rank;
    if (memory[rank].total() > memory[answer.fullest].total()) answer.fullest = rank;
  }
  for (const Replica& replica : replicas)
    answer.bubble_fraction = std::max(answer.bubble_fraction, replica.timing.bubble_fraction());
  answer.exact = question.exact || question.layout.gpus() == question.layout.stages;
  answer.simulated_ranks =
      question.exact ? question.layout.gpus() : static_cast<std::int64_t>(replicas.size()) * question.layout.stages;
  answer.usable = usable_bytes(question);
  answer.assumed = assumptions(question);
  add_rates(answer, question, parts);
  name_limit(answer);
  return answer;
}

}  // namespace

Result<ParallelAnswer> predict_with(const ParallelQuestion& question, const StagePieces& pieces) {
  const auto schedule = schedule_of(question.layout);
  if (!schedule) return fail(schedule.error());
  const auto parts = stage_parts(question, pieces, schedule->stages);
  const auto all = paces(question);
  if (!all) return fail(all.error());
  std::vector<Replica> replicas;
  for (const Pace& pace : *all) {
    auto replica = run_replica(question, parts, *schedule, pace);
    if (!replica) return fail(replica.error());
    replicas.push_back(std::move(*replica));
  }
  return put_together(question, pieces, parts, *schedule, replicas);
}

Result<ParallelAnswer> predict_parallel(const ParallelQuestion& question) {
  if (auto fits = check_layout(question.spec, question.recipe, question.layout, question.cluster.gpus); !fits)
    return fail(fits.error());
  const auto pieces = stage_pieces(question.spec, question.recipe, question.layout, question.choices, question.cluster);
  if (!pieces) return fail(pieces.error());
  return predict_with(question, *pieces);
}

}  // namespace plimsoll
