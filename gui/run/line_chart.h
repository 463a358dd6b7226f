#pragma once

#include <QWidget>

#include <functional>
#include <vector>

#include "gui/theme/theme.h"

namespace plimsoll::gui {

/// Values over steps as a line, with a band or a level to hold them against.
class LineChart final : public QWidget {
  Q_OBJECT

 public:
  /// How a value is written at the axis and in tips.
  using Words = std::function<QString(double)>;

  /// `unit` is what round values at the axis are multiples of: 2^20 for bytes that are told in MiB.
  LineChart(std::size_t color, Words words, double unit = 1, QWidget* parent = nullptr);

  void clear();
  /// A value of step `x`; what is not finite leaves a gap.
  void add(double x, double y);
  /// A level with its interval; `low` = `high` = `level` draws a line alone.
  void show_level(double level, double low, double high);
  /// Points beside the line (held-out losses).
  void add_mark(double x, double y);
  void set_title(const QString& title);
  void apply_theme(const Theme& theme);

  [[nodiscard]] std::size_t count() const { return values_.size(); }
  [[nodiscard]] QSize sizeHint() const override { return {420, 190}; }
  [[nodiscard]] QSize minimumSizeHint() const override { return {220, 120}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;

 private:
  struct Scale {
    QRectF plot;
    double x_low = 0, x_high = 1, y_low = 0, y_high = 1;
    [[nodiscard]] QPointF at(QPointF value) const;
  };

  [[nodiscard]] Scale scale() const;
  void paint_axes(QPainter& painter, const Scale& scale) const;
  void paint_level(QPainter& painter, const Scale& scale) const;
  void paint_values(QPainter& painter, const Scale& scale) const;

  std::size_t color_;
  Words words_;
  double unit_;
  QString title_;
  std::vector<QPointF> values_;
  std::vector<QPointF> marks_;
  bool has_level_ = false;
  double level_ = 0, low_ = 0, high_ = 0;
  Theme theme_;
};

/// Round values between two bounds, about `count` of them.
std::vector<double> round_marks(double low, double high, int count);

}  // namespace plimsoll::gui
