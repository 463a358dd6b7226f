#include "gui/run/line_chart.h"

#include <QHelpEvent>
#include <QLocale>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace plimsoll::gui {
namespace {

constexpr int kMarks = 4;

}  // namespace

std::vector<double> round_marks(double low, double high, int count) {
  if (!(high > low) || count < 1) return {low};
  const double rough = (high - low) / count;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double digit = rough / power;
  const double step = power * (digit < 1.5 ? 1 : digit < 3.5 ? 2 : digit < 7.5 ? 5 : 10);
  std::vector<double> marks;
  for (double at = std::ceil(low / step) * step; at <= high + step * 1e-9; at += step) marks.push_back(std::abs(at) < step * 1e-9 ? 0 : at);
  return marks;
}

LineChart::LineChart(std::size_t color, Words words, double unit, QWidget* parent)
    : QWidget(parent), color_(color), words_(std::move(words)), unit_(unit), theme_(light_theme()) {
  setMouseTracking(true);
}

void LineChart::clear() {
  values_.clear();
  marks_.clear();
  has_level_ = false;
  update();
}

void LineChart::add(double x, double y) {
  values_.emplace_back(x, y);
  update();
}

void LineChart::add_mark(double x, double y) {
  marks_.emplace_back(x, y);
  update();
}

void LineChart::show_level(double level, double low, double high) {
  has_level_ = true;
  level_ = level, low_ = low, high_ = high;
  update();
}

void LineChart::set_title(const QString& title) {
  title_ = title;
  setAccessibleName(title);
  update();
}

void LineChart::apply_theme(const Theme& theme) {
  theme_ = theme;
  update();
}

QPointF LineChart::Scale::at(QPointF value) const {
  return {plot.left() + plot.width() * (value.x() - x_low) / (x_high - x_low),
          plot.bottom() - plot.height() * (value.y() - y_low) / (y_high - y_low)};
}

LineChart::Scale LineChart::scale() const {
  Scale scale;
  scale.plot = QRectF(rect()).adjusted(64, fontMetrics().height() + 8, -10, -fontMetrics().height() - 6);
  double low = HUGE_VAL, high = -HUGE_VAL, last = 1;
  const auto take = [&](double y) {
    if (std::isfinite(y)) low = std::min(low, y), high = std::max(high, y);
  };
  for (const QPointF& value : values_) take(value.y()), last = std::max(last, value.x());
  for (const QPointF& mark : marks_) take(mark.y());
  if (has_level_) take(low_), take(high_);
  if (!(low < HUGE_VAL)) low = 0, high = 1;
  const double room = high > low ? 0.06 * (high - low) : std::max(0.05 * std::abs(high), 1e-9);
  scale.x_low = values_.empty() ? 0 : values_.front().x();
  scale.x_high = std::max(scale.x_low + 1, last);
  scale.y_low = low - room, scale.y_high = high + room;
  return scale;
}

void LineChart::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  QFont bold = font();
  bold.setWeight(QFont::DemiBold);
  painter.setFont(bold);
  painter.setPen(theme_.text);
  painter.drawText(QRectF(0, 0, width(), fontMetrics().height() + 2), Qt::AlignLeft | Qt::AlignVCenter, title_);
  painter.setFont(font());
  if (!values_.empty() && std::isfinite(values_.back().y())) {
    painter.setPen(theme_.faint_text);
    painter.drawText(QRectF(0, 0, width() - 10, fontMetrics().height() + 2), Qt::AlignRight | Qt::AlignVCenter, words_(values_.back().y()));
  }
  const Scale scale = this->scale();
  paint_axes(painter, scale);
  paint_level(painter, scale);
  paint_values(painter, scale);
}

void LineChart::paint_axes(QPainter& painter, const Scale& scale) const {
  const int rows = std::clamp(static_cast<int>(scale.plot.height() / 34), 2, kMarks + 1);
  for (const double mark : round_marks(scale.y_low / unit_, scale.y_high / unit_, rows)) {
    const double y = mark * unit_;
    const double at = scale.at({scale.x_low, y}).y();
    painter.setPen(theme_.grid);
    painter.drawLine(QPointF(scale.plot.left(), at), QPointF(scale.plot.right(), at));
    if (values_.empty()) continue;
    painter.setPen(theme_.faint_text);
    painter.drawText(QRectF(0, at - 10, scale.plot.left() - 6, 20), Qt::AlignRight | Qt::AlignVCenter, words_(y));
  }
  if (values_.empty()) return;
  painter.setPen(theme_.faint_text);
  for (const double x : round_marks(scale.x_low, scale.x_high, kMarks)) {
    if (x != std::floor(x)) continue;
    const double at = scale.at({x, scale.y_low}).x();
    painter.drawText(QRectF(at - 40, scale.plot.bottom() + 2, 80, fontMetrics().height() + 4), Qt::AlignHCenter | Qt::AlignTop, QLocale().toString(x, 'f', 0));
  }
}

void LineChart::paint_level(QPainter& painter, const Scale& scale) const {
  if (!has_level_) return;
  QColor band = theme_.good;
  band.setAlpha(36);
  const double top = scale.at({0, high_}).y(), bottom = scale.at({0, low_}).y(), at = scale.at({0, level_}).y();
  if (bottom > top) painter.fillRect(QRectF(QPointF(scale.plot.left(), top), QPointF(scale.plot.right(), bottom)), band);
  painter.setPen(QPen(theme_.good, 1.5, Qt::DashLine));
  painter.drawLine(QPointF(scale.plot.left(), at), QPointF(scale.plot.right(), at));
}

void LineChart::paint_values(QPainter& painter, const Scale& scale) const {
  painter.setPen(QPen(theme_.series(color_), 2));
  painter.setBrush(Qt::NoBrush);
  QPolygonF line;
  const auto draw = [&] {
    if (line.size() > 1) painter.drawPolyline(line);
    if (line.size() == 1) painter.drawEllipse(line.front(), 1.5, 1.5);
    line.clear();
  };
  // More values than pixels are drawn one a pixel at most: the others would lie on them.
  const std::size_t stride = std::max<std::size_t>(1, values_.size() / static_cast<std::size_t>(std::max(1.0, scale.plot.width())));
  for (std::size_t i = 0; i < values_.size(); i += stride) {
    if (std::isfinite(values_[i].y())) {
      line << scale.at(values_[i]);
    } else {
      draw();
    }
  }
  draw();
  painter.setBrush(theme_.series(1));
  painter.setPen(Qt::NoPen);
  for (const QPointF& mark : marks_) painter.drawEllipse(scale.at(mark), 4, 4);
}

bool LineChart::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip || values_.empty()) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const Scale scale = this->scale();
  const auto nearest = std::min_element(values_.begin(), values_.end(), [&](const QPointF& a, const QPointF& b) {
    return std::abs(scale.at(a).x() - help->pos().x()) < std::abs(scale.at(b).x() - help->pos().x());
  });
  QToolTip::showText(help->globalPos(), QStringLiteral("%1: %2").arg(QLocale().toString(nearest->x(), 'f', 0), words_(nearest->y())), this);
  return true;
}

}  // namespace plimsoll::gui
