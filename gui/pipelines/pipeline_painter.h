#pragma once

#include <QPainter>

#include <optional>

#include "gui/pipelines/pipeline_layout.h"
#include "gui/theme/theme.h"

namespace plimsoll::gui {

/// Draws a timed schedule: boxes with the numbers of micro-batches, an axis, and beside each rank what it holds.
class PipelinePainter {
 public:
  static constexpr int kGutter = 74;    ///< names of ranks
  static constexpr int kTop = 34;       ///< axis
  static constexpr int kColumns = 236;  ///< what ranks hold

  PipelinePainter(QPainter& painter, const TimedPipeline& pipeline, const Theme& theme, const TimeScale& scale,
                  const PipelineRows& rows, const QSize& size);

  /// `pointer`: where a hint is asked for.
  void paint(const std::optional<QPointF>& pointer);

 private:
  void paint_axis();
  void paint_rows();
  void paint_boxes(const std::vector<PipelineBox>& boxes);
  void paint_columns();
  void paint_hint(const PipelineBox& box);
  [[nodiscard]] QString hint_of(const PipelineBox& box) const;

  QPainter& painter_;
  const TimedPipeline& pipeline_;
  const Theme& theme_;
  const TimeScale& scale_;
  PipelineRows rows_;
  QSize size_;
};

}  // namespace plimsoll::gui
