#include <algorithm>

#include "sim/schedule/order_builder.h"
#include "sim/schedule/schedule_makers.h"

namespace plimsoll {
namespace {

/// One rank's steady state: after `ahead` forwards, an input gradient, a forward, and a weight gradient for every input
/// gradient but the first `behind`.
struct HandCraftedRank {
  std::uint32_t ahead = 0;
  std::uint32_t behind = 0;
  bool forward_first = false;
};

void write_rank(std::vector<PipelineOp>& ops, std::uint32_t stage, std::uint32_t count, const HandCraftedRank& rank) {
  OrderBuilder order(ops);
  std::uint32_t forwards = std::min(rank.ahead, count);
  std::uint32_t weights = 0;
  for (std::uint32_t i = 0; i < forwards; ++i) order.forward(stage, i);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (rank.forward_first && forwards < count) order.forward(stage, forwards++);
    order.input(stage, i);
    if (i >= rank.behind) order.weight(stage, weights++);
    if (!rank.forward_first && forwards < count) order.forward(stage, forwards++);
  }
  while (weights < count) order.weight(stage, weights++);
}

}  // namespace

/// Weight gradients fill the end of 1F1B, within its memory (Qi et al., "Zero bubble pipeline parallelism", 2024).
Result<PipelineSchedule> make_zb_h1(const ScheduleRequest& request) {
  PipelineSchedule schedule = empty_schedule(request, request.ranks);
  for (std::uint32_t rank = 0; rank < request.ranks; ++rank) {
    write_rank(schedule.orders[rank], rank, request.micro_batches,
               {.ahead = request.ranks - 1 - rank, .behind = rank, .forward_first = true});
  }
  return schedule;
}

/// As ZB-H1 with about twice the memory: more forwards at the start leave no gap before the first gradient.
Result<PipelineSchedule> make_zb_h2(const ScheduleRequest& request) {
  PipelineSchedule schedule = empty_schedule(request, request.ranks);
  for (std::uint32_t rank = 0; rank < request.ranks; ++rank) {
    write_rank(schedule.orders[rank], rank, request.micro_batches,
               {.ahead = 2 * (request.ranks - rank) - 1, .behind = 2 * rank, .forward_first = false});
  }
  return schedule;
}

}  // namespace plimsoll
