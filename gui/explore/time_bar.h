#pragma once

#include <QWidget>

#include <vector>

#include "core/trace/summarize.h"
#include "gui/theme/theme.h"

class QPainter;

namespace plimsoll::gui {

/// What a step's time goes into, as one bar whose parts add up to the step.
class TimeBar final : public QWidget {
  Q_OBJECT

 public:
  explicit TimeBar(QWidget* parent = nullptr);

  void show_step(const StepBreakdown& step);
  void apply_theme(const Theme& theme);
  void retranslate();

  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override { return {280, sizeHint().height()}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;

 private:
  struct Part {
    TimePart part;
    Nanoseconds time;
    QRectF area;
  };

  [[nodiscard]] std::vector<Part> parts() const;
  /// The names of as many parts as there is room for; the shortest parts go first.
  void paint_legend(QPainter& painter) const;

  StepBreakdown step_;
  Theme theme_;
};

/// "forward", "exposed transfers" for a part of a step.
QString part_words(TimePart part);

}  // namespace plimsoll::gui
