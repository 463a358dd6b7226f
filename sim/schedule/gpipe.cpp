#include "sim/schedule/order_builder.h"
#include "sim/schedule/schedule_makers.h"

namespace plimsoll {

/// One micro-batch at a time: the next starts when the first rank has its gradient back.
Result<PipelineSchedule> make_naive(const ScheduleRequest& request) {
  PipelineSchedule schedule = empty_schedule(request, request.ranks);
  for (std::uint32_t rank = 0; rank < request.ranks; ++rank) {
    OrderBuilder order(schedule.orders[rank]);
    for (std::uint32_t i = 0; i < request.micro_batches; ++i) {
      order.forward(rank, i);
      order.backward(rank, i);
    }
  }
  return schedule;
}

/// All forwards, then all backwards, both in the order of the micro-batches.
Result<PipelineSchedule> make_gpipe(const ScheduleRequest& request) {
  PipelineSchedule schedule = empty_schedule(request, request.ranks);
  for (std::uint32_t rank = 0; rank < request.ranks; ++rank) {
    OrderBuilder order(schedule.orders[rank]);
    for (std::uint32_t i = 0; i < request.micro_batches; ++i) order.forward(rank, i);
    for (std::uint32_t i = 0; i < request.micro_batches; ++i) order.backward(rank, i);
  }
  return schedule;
}

}  // namespace plimsoll
