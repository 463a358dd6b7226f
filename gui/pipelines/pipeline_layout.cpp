#include "gui/pipelines/pipeline_layout.h"

#include <algorithm>
#include <cmath>

namespace plimsoll::gui {
namespace {

/// The ordinal of each stage among those of the rank.
std::vector<std::uint32_t> chunks_of(const PipelineSchedule& schedule, const std::vector<PipelineOp>& order) {
  constexpr std::uint32_t kUnseen = 0xffffffffu;
  std::vector<std::uint32_t> chunk(schedule.stages, kUnseen);
  std::uint32_t next = 0;
  for (const PipelineOp& op : order) {
    if (chunk[op.stage.index] == kUnseen) chunk[op.stage.index] = next++;
  }
  return chunk;
}

}  // namespace

std::vector<PipelineBox> pipeline_boxes(const TimedPipeline& pipeline, const TimeScale& scale, const PipelineRows& rows) {
  std::vector<PipelineBox> boxes;
  for (std::size_t rank = 0; rank < pipeline.schedule.ranks(); ++rank) {
    const auto& order = pipeline.schedule.orders[rank];
    const auto& times = pipeline.timing.ops[rank];
    const std::vector<std::uint32_t> chunk = chunks_of(pipeline.schedule, order);
    double reached = scale.left - 1;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const double left = scale.x_of(static_cast<double>(times[i].begin.count));
      const double right = scale.x_of(static_cast<double>(times[i].end.count));
      const bool lower = i > 0 && order[i - 1].with_next;
      if (right < scale.left || left > scale.left + scale.width) continue;
      if (std::floor(right) <= reached && !lower) continue;
      reached = std::floor(right);
      const double top = rows.top_of(rank);
      const double bottom = top + rows.height - rows.gap;
      const double middle = (top + bottom) / 2;
      boxes.push_back({static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(i), left, right, lower ? middle : top,
                       order[i].with_next ? middle : bottom, chunk[order[i].stage.index]});
    }
  }
  return boxes;
}

std::optional<PipelineBox> box_at(const std::vector<PipelineBox>& boxes, double x, double y) {
  for (const PipelineBox& box : boxes) {
    if (x >= box.left && x < box.right && y >= box.top && y < box.bottom) return box;
  }
  return std::nullopt;
}

}  // namespace plimsoll::gui
