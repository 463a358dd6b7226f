#include "sim/schedule/order_builder.h"
#include "sim/schedule/pattern_order.h"
#include "sim/schedule/schedule_makers.h"

namespace plimsoll {
namespace {

PipelineSchedule from_block(const ScheduleRequest& request, const std::array<int, kVPasses>& hop) {
  PipelineSchedule schedule = empty_schedule(request, 2 * request.ranks);
  order_by_block(find_block(hop, request.ranks), schedule);
  return schedule;
}

}  // namespace

/// Downward passes take two slots a rank, upward ones one. A micro-batch's two activations then live 6 p slots
/// together, and with a block every 6 slots a rank holds p of them: p / 2 micro-batches, half of what 1F1B holds.
Result<PipelineSchedule> make_v_half(const ScheduleRequest& request) { return from_block(request, {2, 1, 2, 1}); }

/// All passes take one slot a rank, as fast as data can travel: 4 p slots, p / 3 micro-batches.
Result<PipelineSchedule> make_v_min(const ScheduleRequest& request) { return from_block(request, {1, 1, 1, 1}); }

}  // namespace plimsoll
