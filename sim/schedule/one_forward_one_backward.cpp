#include <fmt/format.h>

#include <algorithm>

#include "sim/schedule/order_builder.h"
#include "sim/schedule/schedule_makers.h"

namespace plimsoll {

/// Enough forwards to keep the ranks after this one busy, then one forward and one backward in turn
/// (Narayanan et al., "Memory-efficient pipeline-parallel DNN training", PipeDream-flush).
Result<PipelineSchedule> make_1f1b(const ScheduleRequest& request) {
  PipelineSchedule schedule = empty_schedule(request, request.ranks);
  const std::uint32_t count = request.micro_batches;
  for (std::uint32_t rank = 0; rank < request.ranks; ++rank) {
    OrderBuilder order(schedule.orders[rank]);
    const std::uint32_t ahead = std::min(request.ranks - 1 - rank, count);
    for (std::uint32_t i = 0; i < ahead; ++i) order.forward(rank, i);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (ahead + i < count) order.forward(rank, ahead + i);
      order.backward(rank, i);
    }
  }
  return schedule;
}

/// The order of 1F1B without a flush: every backward updates, and old weights wait for the backwards that need them.
Result<PipelineSchedule> make_pipedream(const ScheduleRequest& request) {
  auto schedule = make_1f1b(request);
  schedule->weights = request.vertical_sync ? WeightRule::kVerticalSync : WeightRule::kStash;
  return schedule;
}

/// The order of 1F1B, its gradients accumulated over a step of at least as many micro-batches as ranks, so that two
/// versions of the weights are enough.
Result<PipelineSchedule> make_2bw(const ScheduleRequest& request) {
  if (request.micro_batches < request.ranks) {
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("2bw needs at least as many micro-batches as ranks, not {} for {}",
                                     request.micro_batches, request.ranks),
                 .where = "--micro-batches",
                 .remedy = fmt::format("take --micro-batches {}", request.ranks)});
  }
  auto schedule = make_1f1b(request);
  schedule->weights = WeightRule::kDoubleBuffered;
  return schedule;
}

}  // namespace plimsoll
