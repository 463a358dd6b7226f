#include <deque>

#include "sim/schedule/schedule_makers.h"

namespace plimsoll {
namespace {

/// The forwards after which `rank` sends activations away so that it never holds more than `cap`: the newest ones
/// leave, because they are needed last.
void balance(PipelineSchedule& schedule, RankId rank, RankId partner, std::size_t cap) {
  std::deque<PipelineOp> here;  // forwards whose activations are on the rank, oldest first
  std::vector<bool> away(schedule.micro_batches, false);
  const auto& order = schedule.orders[rank.index];
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i].work != PipelineWork::kForward) {
      if (!away[order[i].micro_batch.index]) here.pop_front();
      continue;
    }
    here.push_back(order[i]);
    // The next op needs room for one more: a new forward's activations, or those that come back for a backward.
    if (here.size() < cap || i + 1 == order.size()) continue;
    const PipelineOp& next = order[i + 1];
    if (next.work != PipelineWork::kForward && !away[next.micro_batch.index]) continue;
    away[here.back().micro_batch.index] = true;
    schedule.moves.push_back({rank, partner, here.back()});
    here.pop_back();
  }
}

}  // namespace

/// 1F1B, in which a rank of the first half keeps what is too much for it on its mirror rank, which has room to spare
/// (Kim et al., "BPipe", 2023). No rank then holds more than ⌈(p + 2) / 2⌉ micro-batches.
Result<PipelineSchedule> make_bpipe(const ScheduleRequest& request) {
  auto schedule = make_1f1b(request);
  const std::uint32_t ranks = request.ranks;
  for (std::uint32_t rank = 0; rank < ranks / 2; ++rank) {
    balance(*schedule, RankId(rank), RankId(ranks - 1 - rank), (ranks + 3) / 2);
  }
  return schedule;
}

}  // namespace plimsoll
