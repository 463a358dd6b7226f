#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gui/pipelines/pipeline_choices.h"
#include "gui/timeline/time_scale.h"

namespace plimsoll::gui {

/// Where the ranks' rows lie.
struct PipelineRows {
  double top = 0;
  double height = 30;  ///< of a row with its gap
  double gap = 4;

  [[nodiscard]] double top_of(std::size_t rank) const { return top + height * static_cast<double>(rank); }
};

/// An op as it is drawn; of an overlapped pair the forward is the upper half and the backward the lower one.
struct PipelineBox {
  std::uint32_t rank = 0;
  std::uint32_t index = 0;  ///< in the rank's order
  double left = 0;
  double right = 0;
  double top = 0;
  double bottom = 0;
  std::uint32_t chunk = 0;  ///< which of the rank's stages, in the order in which it first works on them
};

/// The boxes that the scale shows, rank by rank; of those that end in one pixel only the first.
std::vector<PipelineBox> pipeline_boxes(const TimedPipeline& pipeline, const TimeScale& scale, const PipelineRows& rows);

/// The op at (x, y), if there is one.
std::optional<PipelineBox> box_at(const std::vector<PipelineBox>& boxes, double x, double y);

}  // namespace plimsoll::gui
