// The part of RankLowering for ranks that share a mixture's experts: each has some of them (experts_of_rank), routes its own
// tokens to all, and passes what all of these ranks send to its own.
#include "core/model/expert_slice.h"
#include "sim/planner/ranks/rank_lowering.h"

namespace plimsoll {
namespace {

constexpr std::uint32_t kExperts = 920'000;  ///< a channel, behind those of the rings; the routings' is the next

ExchangeKind exchange_of(OpKind kind) {
  if (kind == OpKind::kGatherRoutings) return ExchangeKind::kAllGather;
  return kind == OpKind::kToExperts ? ExchangeKind::kAllToAll : ExchangeKind::kAllToAllBack;
}

}  // namespace

bool RankLowering::is_expert_exchange(OpKind kind) {
  return kind == OpKind::kGatherRoutings || kind == OpKind::kToExperts || kind == OpKind::kFromExperts;
}

void RankLowering::exchange_with_experts(const Op& op, const std::vector<std::pair<Range, Access>>& operands) {
  const DType dtype = graph_.at(op.operands[0].tensor).dtype;
  Exchange exchange{.kind = exchange_of(op.kind), .dtype = dtype, .channel = kExperts, .ranks = {}};
  const std::uint32_t first = job_.first_sharer(replica_);
  for (std::uint32_t i = 0; i < job_.experts; ++i) exchange.ranks.push_back(job_.rank_at(place_, first + i, slice_));
  if (op.kind == OpKind::kGatherRoutings) ++exchange.channel;
  out_.begin_segment("experts of other ranks", global(entered_.micro_batch), op.block);
  out_.exchange(queue_named("experts"), exchange, operands);
  go_on();
}

std::vector<RankLowering::SummedRun> RankLowering::runs_of_sum(const Tensor& sum) const {
  std::vector<SummedRun> runs;
  std::int64_t first = 0;
  const auto add = [&](std::int64_t end, bool experts) {
    if (end > first) runs.push_back({{first, end - first}, experts});
    first = end;
  };
  const bool shares = job_.experts > 1 && sum.group.valid();
  for (const ElementRun& own : shares ? own_runs_of_experts(graph_.parameters.at(sum.group)) : std::vector<ElementRun>()) {
    add(own.own, false);
    add(own.own + own.count, true);
  }
  add(sum.elements, false);
  return runs;
}

std::uint32_t RankLowering::terms_of_sum(const Tensor& sum) const {
  std::uint32_t terms = 0;
  for (const SummedRun& run : runs_of_sum(sum)) terms += run.of_experts ? job_.experts : 1;
  return goes_round() ? terms : terms * job_.micro_batches();  // of a round a rank has one micro-batch
}

Exchange RankLowering::among_holders(Exchange replicas) const {
  std::erase_if(replicas.ranks, [&](std::uint32_t rank) {
    return job_.replica_of(rank) % job_.experts != replica_ % job_.experts;
  });
  return replicas;
}

}  // namespace plimsoll
