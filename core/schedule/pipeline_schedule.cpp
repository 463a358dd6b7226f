#include "core/schedule/pipeline_schedule.h"

namespace plimsoll {

std::string_view to_text(WeightRule rule) {
  constexpr std::string_view kNames[] = {"flush", "stash", "vertical_sync", "double_buffered"};
  return kNames[static_cast<std::size_t>(rule)];
}

std::vector<RankId> rank_of_cells(const PipelineSchedule& schedule) {
  std::vector<RankId> ranks(schedule.cells());
  for (std::size_t rank = 0; rank < schedule.ranks(); ++rank) {
    for (const PipelineOp& op : schedule.orders[rank]) {
      if (op.work == PipelineWork::kForward) ranks[schedule.cell(op)] = RankId(rank);
    }
  }
  return ranks;
}

}  // namespace plimsoll
