#include "gui/compare/split_chart.h"

#include <QPainter>

#include <algorithm>
#include <cmath>

#include "gui/explore/time_bar.h"
#include "gui/explore/words.h"
#include "gui/language/say.h"

namespace plimsoll::gui {
namespace {

constexpr double kNames = 34;   // beneath the bars
constexpr double kValues = 18;  // above them

QString value_text(const SplitBar& bar) {
  constexpr double kNano = 1e-9;
  if (bar.kind != SplitBar::Kind::kPart) return seconds_text(kNano * static_cast<double>(bar.to));
  const auto change = static_cast<double>(bar.change());
  return signed_text(change, seconds_text(kNano * std::abs(change)));
}

}  // namespace

SplitChart::SplitChart(QWidget* parent) : QWidget(parent), theme_(light_theme()) {}

void SplitChart::show_steps(const SharedSteps& steps) {
  bars_ = steps != nullptr && steps->comparison ? split_bars(*steps->comparison) : std::vector<SplitBar>();
  update();
}

void SplitChart::apply_theme(const Theme& theme) {
  theme_ = theme;
  update();
}

QString SplitChart::name_of(const SplitBar& bar) const {
  switch (bar.kind) {
    case SplitBar::Kind::kFirst: return say("First");
    case SplitBar::Kind::kSecond: return say("Second");
    case SplitBar::Kind::kPart: break;
  }
  return part_words(bar.part);
}

void SplitChart::paint_bar(QPainter& painter, const SplitBar& bar, const QRectF& column) const {
  const SplitAxis axis = split_axis(bars_);
  const double room = column.height() - kNames - kValues;
  const double floor = column.top() + kValues + room;
  const bool whole = bar.kind != SplitBar::Kind::kPart;
  const double from = whole ? 0 : axis.height_of(static_cast<double>(bar.from), room);
  const double to = axis.height_of(static_cast<double>(bar.to), room);
  const QRectF box(column.left() + 5, floor - std::max(from, to), column.width() - 10, std::max(std::abs(to - from), 1.5));
  const QColor colour = whole ? theme_.part(TimePart::kIdle) : bar.change() > 0 ? theme_.bad : theme_.good;
  painter.setPen(Qt::NoPen);
  painter.setBrush(colour);
  painter.drawRoundedRect(box, 2, 2);
  painter.setPen(theme_.text);
  painter.drawText(QRectF(column.left() - 10, box.top() - kValues, column.width() + 20, kValues), Qt::AlignCenter,
                   value_text(bar));
  painter.setPen(theme_.faint_text);
  painter.drawText(QRectF(column.left() - 4, floor + 4, column.width() + 8, kNames - 4),
                   Qt::AlignHCenter | Qt::AlignTop | Qt::TextWordWrap, name_of(bar));
}

void SplitChart::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  if (bars_.empty()) return;
  QFont small = font();
  small.setPointSizeF(small.pointSizeF() * 0.8);
  painter.setFont(small);
  const double width = static_cast<double>(rect().width()) / static_cast<double>(bars_.size());
  painter.setPen(theme_.border);
  painter.drawLine(QPointF(0, height() - kNames), QPointF(rect().width(), height() - kNames));
  for (std::size_t i = 0; i < bars_.size(); ++i) {
    paint_bar(painter, bars_[i], QRectF(static_cast<double>(i) * width, 0, width, height()));
  }
}

}  // namespace plimsoll::gui
