// The part of RankLowering that sums gradients over replicas and updates weights.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "sim/planner/ranks/rank_lowering.h"

namespace plimsoll {
namespace {

// Channels of what goes once a step, behind those of the crossings.
constexpr std::uint32_t kTiedSums = 1'000;
constexpr std::uint32_t kLosses = 1'002;
constexpr std::uint32_t kSharedWeights = 1'003;
constexpr std::uint32_t kSums = 100'000;  ///< and on, one a tensor

std::int64_t elements_between(std::int64_t begin, std::int64_t end) { return std::max<std::int64_t>(0, end - begin); }

}  // namespace

void RankLowering::complete_sum(TensorId sum) {
  if (graph_.at(sum).kind != TensorKind::kAccumulator || summed_.at(sum) != terms_of_sum(graph_.at(sum))) return;
  sum_norm_gradients(sum, shared_[sum.index]);
  if (job_.replicas_of(place_) > 1) sum_over_replicas(sum);
}

bool RankLowering::is_tied(TensorId sum) const {
  return graph_.at(sum).group == graph_.parameters.embedding() && graph_.spec.tied_head;
}

Exchange RankLowering::among_replicas(ExchangeKind kind, DType dtype, std::uint32_t channel) const {
  Exchange exchange{.kind = kind, .dtype = dtype, .channel = channel, .ranks = {}};
  for (std::uint32_t replica = 0; replica < job_.replicas_of(place_); ++replica)
    exchange.ranks.push_back(job_.rank_at(place_, replica, slice_));
  return exchange;
}

std::pair<Range, Access> RankLowering::workspace_of(std::int64_t elements, DType dtype, std::uint32_t members) {
  const BufferId buffer = book_.add({.name = "terms of other ranks",
                                     .space = places_.device,
                                     .bytes = reduction_workspace(elements, members, dtype),
                                     .category = TensorKind::kWorkspace});
  return {out_.whole(buffer), Access::kWrite};
}

/// In pieces of a bucket's size, so that the first ones go while others still wait for their turn. Of a group that replicas
/// divide each gets its part; a tied embedding's is joined first, and so whole.
void RankLowering::sum_over_replicas(TensorId sum) {
  const Tensor& tensor = graph_.at(sum);
  const std::int64_t size = size_of(tensor.dtype);
  out_.begin_segment("sum over replicas", 0, tensor.block);
  if (tensor.group.valid() && is_sharded(tensor.group) && !is_shared_mixture(tensor.group) && !is_tied(sum)) {
    const BufferId part = book_.add({.name = tensor.name + ", own part",
                                     .space = places_.device,
                                     .bytes = Bytes(longest_part(tensor.elements, job_.replicas) * size),
                                     .category = TensorKind::kAccumulator});
    parts_[sum] = part;
    out_.exchange(queue_named("sums"), among_replicas(ExchangeKind::kReduceScatter, tensor.dtype, kSums + sum.index),
                  {{out_.whole(shared_[sum.index]), Access::kRead},
                   {out_.whole(part), Access::kWrite},
                   workspace_of(tensor.elements, tensor.dtype)});
    return go_on();
  }
  const std::int64_t bucket = std::max<std::int64_t>(1, job_.bucket.count / size);
  for (const auto& [elements, of_experts] : runs_of_sum(tensor)) {
    const Exchange all = among_replicas(ExchangeKind::kAllReduce, tensor.dtype, kSums + sum.index);
    const Exchange among = of_experts ? among_holders(all) : all;
    const auto members = static_cast<std::uint32_t>(among.ranks.size());
    if (members == 1) continue;
    const std::int64_t end = elements.first + elements.count;
    for (std::int64_t first = elements.first; first < end; first += bucket) {
      const std::int64_t count = std::min(bucket, end - first);
      const Range piece{shared_[sum.index], Bytes(first * size), Bytes(count * size)};
      out_.exchange(queue_named("sums"), among, {{piece, Access::kReadWrite}, workspace_of(count, tensor.dtype, members)});
    }
  }
  go_on();
}

void RankLowering::scatter_gradient(const Op& op, std::uint32_t micro_batch) {
  add_parts();
  const TensorId sum = whole_of(op.operands[1].tensor);
  const TensorId whole = whole_of(op.operands[0].tensor);
  const Tensor& gradient = graph_.at(whole);
  sum_norm_gradients(whole, holder(whole, micro_batch));
  const BufferId part = book_.add({.name = gradient.name + ", own part",
                                   .space = places_.device,
                                   .bytes = Bytes(longest_part(gradient.elements, job_.replicas) * size_of(gradient.dtype)),
                                   .category = TensorKind::kGradient});
  out_.begin_segment("scatter gradient", global(micro_batch), gradient.block);
  out_.exchange(queue_named("sums"), among_replicas(ExchangeKind::kReduceScatter, gradient.dtype, kSums + sum.index),
                {{out_.whole(holder(op.operands[0].tensor, micro_batch)), Access::kRead},
                 {out_.whole(part), Access::kWrite},
                 workspace_of(gradient.elements, gradient.dtype)});
  unsummed_.push_back({&op, part, summed_[sum]++ == 0});
  go_on();
}

void RankLowering::add_parts() {
  for (const GradientPart& next : unsummed_) {
    const TensorId sum = whole_of(next.op->operands[1].tensor);
    const Tensor& of = graph_.at(sum);
    const Tensor& gradient = graph_.at(next.op->operands[0].tensor);
    BufferId& own = parts_[sum];
    if (!own.valid()) {
      own = book_.add({.name = of.name + ", own part",
                       .space = places_.device,
                       .bytes = Bytes(longest_part(of.elements, job_.replicas) * size_of(of.dtype)),
                       .category = TensorKind::kAccumulator});
    }
    const std::int64_t count = part_of(of.elements, job_.replicas, replica_).count;
    OpShape shape = next.op->shape;
    shape.rows = count;
    out_.begin_segment("sum of parts", 0, of.block);
    out_.set_phase(Phase::kBackward);
    out_.launch(places_.compute, {next.op->kind, next.op->dtype, shape},
                {{Range{next.part, Bytes(0), Bytes(count * size_of(gradient.dtype))}, Access::kRead},
                 {Range{own, Bytes(0), Bytes(count * size_of(of.dtype))}, next.first ? Access::kWrite : Access::kReadWrite}});
  }
  unsummed_.clear();
}

void RankLowering::write_optimizer() {
  add_parts();
  for (std::size_t i = 0; i < graph_.tensors.size() && graph_.recipe.accumulate == 1; ++i) {
    const bool own = graph_.tensors[i].kind == TensorKind::kGradient && !graph_.tensors[i].view_of.valid() && own_[0][i].valid();
    if (own) sum_norm_gradients(TensorId(i), own_[0][i]);
  }
  join_tied_sums();
  if (awaits_norm(graph_.recipe)) write_norms();
  for (std::size_t i = 0; i < graph_.parameters.groups.size(); ++i) {
    if (owns(GroupId(i))) update_group(GroupId(i));
  }
}

void RankLowering::join_tied_sums() {
  for (const Op& op : graph_.ops) {
    if (op.phase != Phase::kOptimizer || op.kind != OpKind::kAccumulate) continue;
    const std::uint32_t from = place_of(static_cast<std::uint32_t>(cut_.stages.size() - 1));
    const std::uint32_t to = place_of(cut_.stage_of_group[graph_.parameters.embedding().index]);
    const TensorId sum = whole_of(op.operands[0].tensor);
    out_.begin_segment("tied head", 0, -1);
    out_.set_phase(Phase::kOptimizer);
    if (from != to && place_ == from) send(rank_of_place(to), kTiedSums, "tied sums", out_.whole(shared_[sum.index]));
    if (place_ != to) continue;
    if (from != to) {
      shared_[sum.index] = make_buffer(graph_.at(sum));
      receive(rank_of_place(from), kTiedSums, "tied sums", out_.whole(shared_[sum.index]));
    }
    out_.launch(places_.compute, {op.kind, op.dtype, op.shape},
                {{range_of(op.operands[0], 0), Access::kRead}, {range_of(op.operands[1], 0), Access::kReadWrite}});
  }
}

void RankLowering::update_group(GroupId group) {
  bool begun = false;
  for (const Op& op : graph_.ops) {
    if (!is_update(op.kind) || graph_.at(op.operands[0].tensor).group != group) continue;
    if (!begun) out_.begin_segment("update", updates_done_, op.block);  // the executor counts them for bias corrections
    begun = true;
    out_.set_phase(Phase::kOptimizer);
    TensorId sum;
    for (const Operand& operand : op.operands) {
      if (graph_.at(operand.tensor).kind == summed_kind()) sum = whole_of(operand.tensor);
    }
    launch_update(op, group, shared_[sum.index].valid() ? shared_[sum.index] : own_[updated_from_][sum.index]);
  }
  if (!begun || !is_sharded(group) || divides_weights(group)) return;
  const Tensor* weights = nullptr;
  for (const Tensor& tensor : graph_.tensors) {
    if (tensor.kind == TensorKind::kParameter && tensor.group == group && !tensor.view_of.valid()) weights = &tensor;
  }
  const std::int64_t size = size_of(weights->dtype);
  const TensorShare share = part_of_replica(group);
  const ElementPart part = part_of(weights->elements, share.count, share.index);
  const Bytes room(longest_part(weights->elements, share.count) * size);
  const BufferId own =
      book_.add({.name = "new weights, own part", .space = places_.device, .bytes = room, .category = TensorKind::kParameter});
  const BufferId parameters = groups_.at(group).parameters;
  out_.copy(places_.compute, InstructionKind::kCopy, {parameters, Bytes(part.first * size), Bytes(part.count * size)},
            {own, Bytes(0), Bytes(part.count * size)});
  const Exchange all = among_replicas(ExchangeKind::kAllGather, weights->dtype, kWeightsChannel + group.index);
  out_.exchange(queue_named("sums"), is_shared_mixture(group) ? among_holders(all) : all,
                {{out_.whole(own), Access::kRead}, {out_.whole(parameters), Access::kWrite}});
}

/// In place. A replica's part is a stretch of the group's elements, with the states that it alone keeps.
void RankLowering::launch_update(const Op& op, GroupId group, BufferId gradient) {
  const OwnedGroup& of = groups_.at(group);
  const bool sharded = is_sharded(group);
  const TensorShare share = part_of_replica(group);
  const ElementPart part = sharded ? part_of(op.shape.rows, share.count, share.index) : ElementPart{0, op.shape.rows};
  Kernel kernel{op.kind, op.dtype, op.shape};
  if (goes_round()) kernel.shape.terms = steady_.updates(place_);
  if (sharded) {
    kernel.shape.rows = part.count;
    kernel.shape.inputs = std::min(part.count, elements_between(part.first, op.shape.inputs));
  }
  /// The op's elements in a buffer of the whole group, or of the own part alone.
  const auto range = [&](BufferId buffer, TensorId tensor, bool own_part) {
    const Tensor& operand = graph_.at(tensor);
    const std::int64_t size = size_of(operand.dtype);
    if (!sharded) return Range{buffer, Bytes(operand.view_offset * size), operand.bytes()};
    return Range{buffer, Bytes(own_part ? 0 : part.first * size), Bytes(part.count * size)};
  };
  std::vector<std::pair<Range, Access>> operands;
  std::size_t states = 0;
  for (const Operand& operand : op.operands) {
    const TensorKind kind = graph_.at(operand.tensor).kind;
    if (operand.access == Access::kReadWrite) {
      const BufferId old = of.old[states++];
      operands.emplace_back(range(old, operand.tensor, old != of.parameters || divides_weights(group)),
                            Access::kReadWrite);
    } else if (kind == TensorKind::kScalar) {
      if (clip_factor_.valid()) operands.emplace_back(out_.whole(clip_factor_), Access::kRead);
    } else if (kind == TensorKind::kParameter) {
      operands.emplace_back(range(of.parameters, operand.tensor, divides_weights(group)), Access::kWrite);
    } else if (kind == TensorKind::kWorkspace) {
      operands.emplace_back(out_.whole(make_buffer(graph_.at(operand.tensor))), Access::kWrite);
    } else {
      const auto own = parts_.find(whole_of(operand.tensor));
      operands.emplace_back(
          own != parts_.end() ? range(own->second, operand.tensor, true) : range(gradient, operand.tensor, false), Access::kRead);
    }
  }
  out_.launch(places_.compute, kernel, operands);
}

/// A head that is tied reads the embedding's weights on another rank than updates them.
void RankLowering::share_weights() {
  std::map<std::tuple<std::uint32_t, GroupId, std::int64_t, std::int64_t>, TensorId>
      shared;  // by reader's place and what it reads
  for (std::uint32_t stage = 0; stage < cut_.stages.size(); ++stage) {
    for (const auto* pass : {&cut_.stages[stage].forward, &cut_.stages[stage].backward}) {
      for (const std::size_t i : *pass) {
        for (const Operand& operand : graph_.ops[i].operands) {
          const Tensor& tensor = graph_.at(operand.tensor);
          if (tensor.kind != TensorKind::kParameter) continue;
          if (place_of(cut_.stage_of_group[tensor.group.index]) == place_of(stage)) continue;
          shared.try_emplace({place_of(stage), tensor.group, tensor.view_offset, tensor.elements}, operand.tensor);
        }
      }
    }
  }
  for (const auto& [what, tensor] : shared) {
    const std::uint32_t reader = std::get<0>(what);
    const GroupId group = graph_.at(tensor).group;
    const std::uint32_t owner = place_of(cut_.stage_of_group[group.index]);
    out_.begin_segment("shared weights", 0, -1);
    out_.set_phase(Phase::kOptimizer);
    const bool ring = is_steady() && !fills_ && place_ == reader;
    const auto range = [&] {  // of divided weights each replica passes its part on
      const BufferId stored = ring ? versions_.at(group).front() : groups_.at(group).parameters;
      return divides_weights() ? out_.whole(stored) : part_of_tensor(tensor, stored);
    };
    if (place_ == owner) send(rank_of_place(reader), kSharedWeights, "shared weights", range());
    if (place_ == reader) receive(rank_of_place(owner), kSharedWeights, "shared weights", range());
  }
}

BufferId RankLowering::fetch_to_host(BufferId device_buffer) {
  const Buffer from = plan_.at(device_buffer);
  const BufferId host = book_.add({.name = from.name, .space = places_.host, .bytes = from.bytes, .category = from.category});
  out_.copy(places_.d2h, InstructionKind::kCopy, out_.whole(device_buffer), out_.whole(host));
  return host;
}

/// Rank 0 reports; the losses come from where the last stage runs, in the order of the micro-batches.
void RankLowering::report() {
  const std::uint32_t last = place_of(static_cast<std::uint32_t>(cut_.stages.size() - 1));
  const std::vector<BufferId> none, &of_mixture = graph_.spec.experts.count > 0 ? expert_losses_ : none;
  out_.begin_segment("report", 0, -1);
  out_.set_phase(Phase::kOptimizer);
  if (place_ == last) sum_losses_of_slices(losses_);
  if (place_ == last && slice_ == 0 && slice_of_sequence() == 0 && rank_ != 0) {
    for (std::uint32_t i = 0; i < losses_.size(); ++i) {
      if (is_own(i)) send(0, kLosses, "losses", out_.whole(losses_[i]));
    }
    for (const BufferId loss : of_mixture) send(0, kLosses, "losses", out_.whole(loss));
  }
  if (rank_ != 0) return;
  std::vector<std::pair<Range, Access>> operands, of_experts;
  for (std::uint32_t i = 0; goes_round() && i < losses_.size(); ++i)
    fetch_losses(rank_passing(last, i), {losses_[i]}, Bytes(8), operands);
  for (std::uint32_t replica = 0; !goes_round() && replica < job_.replicas; replica += job_.context) {
    const std::uint32_t from = job_.rank_at(last, replica, 0);
    fetch_losses(from, losses_, Bytes(8), operands);
    fetch_losses(from, of_mixture, Bytes(16), of_experts);
  }
  if (clip_factor_.valid()) operands.emplace_back(out_.whole(fetch_to_host(clip_factor_)), Access::kRead);
  operands.insert(operands.end(), of_experts.begin(), of_experts.end());
  out_.host_work(places_.report, HostTask::kReportLoss, operands);
}

void RankLowering::fetch_losses(std::uint32_t from, const std::vector<BufferId>& own, Bytes each,
                                std::vector<std::pair<Range, Access>>& to) {
  for (BufferId loss : own) {
    if (from != 0) {
      loss = book_.add({.name = "loss", .space = places_.device, .bytes = each, .category = TensorKind::kScalar});
      receive(from, kLosses, "losses", out_.whole(loss));
    }
    to.emplace_back(out_.whole(fetch_to_host(loss)), Access::kRead);
  }
}

/// The first replica's last stage has what rank 0 reports.
void RankLowering::report_evaluation() {
  const std::uint32_t from = job_.rank_at(place_of(static_cast<std::uint32_t>(cut_.stages.size() - 1)), 0, 0);
  const bool answers = std::any_of(graph_.ops.begin(), graph_.ops.end(),
                                   [](const Op& op) { return op.kind == OpKind::kLoss && op.operands.size() > 3; });
  out_.begin_segment("report", 0, -1);
  out_.set_phase(Phase::kOptimizer);
  std::vector<BufferId> found{losses_[0]};
  if (place_ == place_of(static_cast<std::uint32_t>(cut_.stages.size() - 1))) sum_losses_of_slices(found);
  if (answers) found.push_back(right_answers_);
  if (rank_ == from && from != 0) {
    for (const BufferId number : found) send(0, kLosses, "losses", out_.whole(number));
  }
  if (rank_ != 0) return;
  std::vector<std::pair<Range, Access>> operands;
  for (BufferId number : found) {
    if (from != 0) {
      number = book_.add({.name = "found", .space = places_.device, .bytes = Bytes(8), .category = TensorKind::kScalar});
      receive(from, kLosses, "losses", out_.whole(number));
    }
    operands.emplace_back(out_.whole(fetch_to_host(number)), Access::kRead);
  }
  out_.host_work(places_.report, HostTask::kReportLoss, operands);
}

}  // namespace plimsoll
