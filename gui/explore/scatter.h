#pragma once

#include <QWidget>

#include <vector>

#include "gui/explore/scatter_layout.h"
#include "gui/theme/theme.h"

namespace plimsoll::gui {

/// The strategies that were looked at, by device memory and step time. A click, or the arrow keys and Enter, choose one.
class Scatter final : public QWidget {
  Q_OBJECT

 public:
  explicit Scatter(QWidget* parent = nullptr);

  void show_points(std::vector<ScatterPoint> points, Bytes usable, const Strategy& chosen);
  void apply_theme(const Theme& theme);
  void retranslate();

  [[nodiscard]] const std::vector<ScatterPoint>& points() const { return points_; }
  /// Where a point is drawn.
  [[nodiscard]] QPointF place_of(std::size_t point) const;
  [[nodiscard]] QSize sizeHint() const override { return {420, 260}; }
  [[nodiscard]] QSize minimumSizeHint() const override { return {260, 180}; }

 Q_SIGNALS:
  void chosen(const plimsoll::Strategy& strategy);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  [[nodiscard]] QRectF plot() const;
  [[nodiscard]] ScatterScale scale() const;
  [[nodiscard]] QString tip(const ScatterPoint& point) const;
  void paint_axes(QPainter& painter, const ScatterScale& scale) const;
  void paint_usable(QPainter& painter, const ScatterScale& scale) const;
  void paint_frontier(QPainter& painter, const ScatterScale& scale) const;
  void paint_points(QPainter& painter, const ScatterScale& scale) const;
  void step_focus(int by);

  std::vector<ScatterPoint> points_;  ///< by device memory
  Bytes usable_;
  Strategy chosen_;
  std::optional<std::size_t> under_;  ///< the mouse or the keys
  Theme theme_;
};

}  // namespace plimsoll::gui
