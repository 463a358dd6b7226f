#pragma once

#include <QAbstractScrollArea>

#include <memory>
#include <optional>

#include "gui/pipelines/pipeline_layout.h"
#include "gui/theme/theme.h"

namespace plimsoll::gui {

using SharedPipeline = std::shared_ptr<const TimedPipeline>;

/// Colour of a kind of work; later stages of a rank are darker.
QColor work_colour(const Theme& theme, PipelineWork work, std::uint32_t chunk);

/// A schedule as papers draw it: a row a rank, a box an op with its micro-batch, beside it what the rank holds. The wheel
/// zooms, dragging pans, W S A D and Home as on the timeline.
class PipelineView final : public QAbstractScrollArea {
  Q_OBJECT

 public:
  explicit PipelineView(QWidget* parent = nullptr);

  void show_pipeline(SharedPipeline pipeline);
  void apply_theme(const Theme& theme);
  void retranslate();
  void show_all();

  [[nodiscard]] const TimeScale& scale() const { return scale_; }
  [[nodiscard]] const SharedPipeline& pipeline() const { return pipeline_; }
  [[nodiscard]] PipelineRows rows() const;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void scrollContentsBy(int dx, int dy) override;
  bool viewportEvent(QEvent* event) override;

 private:
  void set_scale(const TimeScale& scale);
  void lay_out_view();
  [[nodiscard]] TimeBounds bounds() const;

  SharedPipeline pipeline_;
  Theme theme_;
  TimeScale scale_;
  bool whole_ = true;  ///< all of the schedule is shown, also after a resize
  QPointF last_;
  std::optional<QPointF> pointer_;
};

}  // namespace plimsoll::gui
