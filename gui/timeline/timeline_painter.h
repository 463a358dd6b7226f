#pragma once

#include <QPainter>

#include "gui/theme/theme.h"
#include "gui/timeline/rows_image.h"
#include "gui/timeline/view_state.h"

namespace plimsoll::gui {

/// Draws a scene: minimap, ruler, rows with what is written on them, memory curves, and what is selected.
class TimelinePainter {
 public:
  TimelinePainter(QPainter& painter, const TimelineScene& scene, const ViewState& state, const Theme& theme, const QSize& size);

  /// Everything; `rows` was painted for this state, `minimap` for the whole scene.
  void paint(const RowsImage& rows, const QImage& minimap);

 private:
  void paint_minimap(const QImage& minimap);
  void paint_ruler();
  void paint_grid();
  void paint_steps();
  void paint_labels(const RowsImage& rows);
  void paint_bubbles(const RowsImage& rows);
  void paint_gutter();
  void paint_curves();
  void paint_curve_names();
  void paint_strip_names();
  void paint_place();
  void paint_curve(const SceneCurve& curve);
  void paint_peak(const SceneCurve& at, const MemoryCurve& curve, double a_byte);
  void paint_range();
  void paint_arrows();
  void paint_arrow(const SceneEvent& from, const SceneEvent& to, const QColor& colour);
  void paint_outline(const SceneEvent& event, const QColor& colour, int width);
  void paint_hint();
  void paint_hint_at(const QString& text, const QRectF& box);

  [[nodiscard]] QRectF box_of(const SceneEvent& event) const;
  [[nodiscard]] double row_y(int top) const { return ViewMetrics::kRows + top - state_.scroll; }
  [[nodiscard]] QRectF rows_area() const;
  void clip_to_rows();

  QPainter& painter_;
  const TimelineScene& scene_;
  const ViewState& state_;
  const Theme& theme_;
  QSize size_;
  WorkColours colours_;
};

/// The busiest kinds of tracks over the whole scene, for the strip above the ruler.
QImage paint_minimap_image(const TimelineScene& scene, const Theme& theme, const QSize& size, double ratio);

}  // namespace plimsoll::gui
