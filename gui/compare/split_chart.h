#pragma once

#include <QWidget>

#include "gui/compare/difference_model.h"
#include "gui/compare/split_layout.h"

namespace plimsoll::gui {

/// The difference of two steps as a staircase: first step, what each part adds or takes away, second step.
class SplitChart final : public QWidget {
  Q_OBJECT

 public:
  explicit SplitChart(QWidget* parent = nullptr);

  void show_steps(const SharedSteps& steps);
  void apply_theme(const Theme& theme);
  [[nodiscard]] const std::vector<SplitBar>& bars() const { return bars_; }
  [[nodiscard]] QSize sizeHint() const override { return {330, 230}; }
  [[nodiscard]] QSize minimumSizeHint() const override { return {260, 190}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void paint_bar(QPainter& painter, const SplitBar& bar, const QRectF& column) const;
  [[nodiscard]] QString name_of(const SplitBar& bar) const;

  std::vector<SplitBar> bars_;
  Theme theme_;
};

}  // namespace plimsoll::gui
