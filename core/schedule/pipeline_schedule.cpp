#include "core/schedule/pipeline_schedule.h"

#include <limits>
#include <numeric>

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

std::uint32_t first_rank_of(const std::vector<std::uint32_t>& replicas, std::size_t stage) {
  return std::accumulate(replicas.begin(), replicas.begin() + static_cast<std::ptrdiff_t>(stage), 0u);
}

std::uint64_t common_round(const std::vector<std::uint32_t>& replicas) {
  std::uint64_t round = 1;
  for (const std::uint32_t count : replicas) {
    round = std::lcm(round, std::uint64_t{count});
    if (round > std::numeric_limits<std::uint32_t>::max()) return round;
  }
  return round;
}

}  // namespace plimsoll
