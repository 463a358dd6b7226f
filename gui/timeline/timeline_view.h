#pragma once

#include <QAbstractScrollArea>

#include <optional>

#include "gui/theme/theme.h"
#include "gui/timeline/emphasis.h"
#include "gui/timeline/rows_image.h"
#include "gui/timeline/view_state.h"

namespace plimsoll::gui {

/// Scenes to look at: wheel zooms at the pointer, Shift + wheel and dragging with Shift or the middle button pan, W S A D
/// and arrows too; a click selects an event, dragging selects a stretch of time, the minimap jumps.
class TimelineView final : public QAbstractScrollArea {
  Q_OBJECT

 public:
  explicit TimelineView(QWidget* parent = nullptr);

  /// Shows another scene, all of it.
  void set_scene(TimelineScene scene);
  void apply_theme(const Theme& theme);

  [[nodiscard]] const TimelineScene& scene() const { return scene_; }
  [[nodiscard]] const ViewState& state() const { return state_; }

  /// Shows [begin, end), which takes `share` of the width.
  void show_range(double begin, double end, double share = 1);
  void show_all();
  /// Selects an event (nothing: none); `reveal` moves the view where it is out of sight.
  void select(const std::optional<SceneEvent>& event, bool reveal = false);
  void set_emphasis(Emphasis emphasis);
  void set_bubbles(bool shown);
  void set_links(std::vector<SceneEvent> before, std::vector<SceneEvent> after);
  void clear_range();

  /// Draws what is shown, for pictures.
  void paint_on(QPainter& painter);

 Q_SIGNALS:
  void selected();      ///< another event, or none
  void rangeSelected(); ///< another stretch of time, or none
  void viewChanged();
  void peakClicked(int curve);
  void placeClicked(const plimsoll::gui::ScenePlace& place);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void scrollContentsBy(int dx, int dy) override;
  bool viewportEvent(QEvent* event) override;

 private:
  enum class Drag { kNone, kRange, kPan, kMinimap };

  void set_scale(const TimeScale& scale);
  void lay_out_view();
  void refresh_rows();
  void forget_picture();
  void begin_drag(const QMouseEvent& event);
  void move_minimap(double x);
  void click(const QPointF& at);
  void hover(const QPointF& at);
  bool move_by_key(int key);
  bool select_by_key(int key);
  void select_beside(int by);
  void reveal(const SceneEvent& event);
  [[nodiscard]] double rows_y(double y) const { return y - ViewMetrics::kRows + state_.scroll; }
  [[nodiscard]] QSize rows_size() const;

  TimelineScene scene_;
  Emphasis emphasis_;
  ViewState state_;
  Theme theme_;
  RowsImage rows_;
  QImage minimap_;
  bool rows_stale_ = true;
  bool minimap_stale_ = true;
  Drag drag_ = Drag::kNone;
  QPointF pressed_;
  QPointF last_;
};

}  // namespace plimsoll::gui
