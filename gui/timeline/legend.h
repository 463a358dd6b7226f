#pragma once

#include <QColor>
#include <QWidget>

#include <vector>

#include "gui/theme/theme.h"
#include "gui/timeline/timeline.h"

namespace plimsoll::gui {

/// A colour and what it stands for.
struct LegendEntry {
  QColor colour;  ///< invalid: a heading, which begins a line
  QString text;
};

/// The classes of work and categories of memory that occur in the timelines.
std::vector<LegendEntry> legend_entries(const std::vector<SharedTimeline>& timelines, const Theme& theme);

/// Swatches in a line, in as many lines as it takes.
class LegendBar final : public QWidget {
  Q_OBJECT

 public:
  using QWidget::QWidget;

  void show_entries(std::vector<LegendEntry> entries);
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] bool hasHeightForWidth() const override { return true; }
  [[nodiscard]] int heightForWidth(int width) const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  /// Where each entry stands in that width, and the height of all.
  [[nodiscard]] std::vector<QPoint> places(int width, int& height) const;

  std::vector<LegendEntry> entries_;
};

}  // namespace plimsoll::gui
