#pragma once

#include <QWidget>

#include <vector>

#include "formats/runs/answers.h"
#include "gui/theme/theme.h"

namespace plimsoll::gui {

/// A bar for each memory with what it holds at the peak, and on each the Plimsoll mark: up to there it may be loaded.
class LoadLine final : public QWidget {
  Q_OBJECT

 public:
  explicit LoadLine(QWidget* parent = nullptr);

  void show_memory(std::vector<SpaceAnswer> memory);
  void apply_theme(const Theme& theme);
  void retranslate();

  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;

 private:
  struct Row {
    QRectF title;
    QRectF bar;
  };

  [[nodiscard]] Row row(std::size_t index) const;
  /// What the title of a row has room for between its name and its margin.
  [[nodiscard]] QRectF need_room(std::size_t index) const;
  /// Whether each row has room for its need in words; all rows say it alike.
  [[nodiscard]] bool says_needs_in_words() const;
  void paint_row(QPainter& painter, std::size_t index, bool in_words) const;
  void paint_bar(QPainter& painter, const SpaceAnswer& space, const QRectF& bar) const;
  void paint_mark(QPainter& painter, double x, const QRectF& bar) const;
  void paint_legend(QPainter& painter, double top) const;
  [[nodiscard]] QString tip_at(const QPointF& point) const;
  void describe();

  std::vector<SpaceAnswer> memory_;
  Theme theme_;
};

}  // namespace plimsoll::gui
