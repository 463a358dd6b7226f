#include "gui/explore/scatter.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>

#include "gui/explore/words.h"
#include "gui/language/say.h"

namespace plimsoll::gui {
namespace {

constexpr double kReach = 12;   ///< a click this near to a point is meant for it
constexpr double kRadius = 4.5;

}  // namespace

Scatter::Scatter(QWidget* parent) : QWidget(parent), theme_(light_theme()) {
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
}

void Scatter::show_points(std::vector<ScatterPoint> points, Bytes usable, const Strategy& chosen) {
  std::stable_sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.device < b.device; });
  points_ = std::move(points);
  usable_ = usable;
  chosen_ = chosen;
  under_.reset();
  retranslate();
}

void Scatter::apply_theme(const Theme& theme) {
  theme_ = theme;
  update();
}

void Scatter::retranslate() {
  setAccessibleName(say("Strategies by device memory and step time"));
  setAccessibleDescription(say("%1 strategies; arrow keys move, Enter chooses").arg(points_.size()));
  update();
}

QRectF Scatter::plot() const {
  double left = 0;
  for (const double mark : ScatterScale(points_, usable_, QRectF(rect())).time_marks()) {
    left = std::max<double>(left, fontMetrics().horizontalAdvance(seconds_text(mark)));
  }
  left += 8;
  return QRectF(rect()).adjusted(left, fontMetrics().height() + 6, -10, -fontMetrics().height() - 8);
}

ScatterScale Scatter::scale() const { return {points_, usable_, plot()}; }

QPointF Scatter::place_of(std::size_t point) const { return scale().at(points_[point]); }

void Scatter::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const ScatterScale scale = this->scale();
  if (points_.empty()) return;  // axes of nothing would say something
  paint_axes(painter, scale);
  paint_usable(painter, scale);
  paint_frontier(painter, scale);
  paint_points(painter, scale);
}

void Scatter::paint_axes(QPainter& painter, const ScatterScale& scale) const {
  const QRectF area = plot();
  painter.setPen(theme_.faint_text);
  painter.drawText(QRectF(0, 0, width(), fontMetrics().height() + 2), Qt::AlignLeft | Qt::AlignTop, say("step time"));
  for (const double seconds : scale.time_marks()) {
    const double y = scale.y(seconds);
    painter.setPen(theme_.grid);
    painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y));
    painter.setPen(theme_.faint_text);
    painter.drawText(QRectF(0, y - 10, area.left() - 6, 20), Qt::AlignRight | Qt::AlignVCenter, seconds_text(seconds));
  }
  for (const Bytes bytes : scale.memory_marks(fontMetrics().horizontalAdvance(QStringLiteral("88.8 GiB")) + 10)) {
    const double x = scale.x(bytes);
    painter.setPen(theme_.grid);
    painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
    const QString text = bytes.count == 0 ? QStringLiteral("0") : bytes_text(bytes);
    const double half = fontMetrics().horizontalAdvance(text) / 2.0 + 3;
    if (x + half > width()) continue;
    painter.setPen(theme_.faint_text);
    painter.drawText(QRectF(x - half, area.bottom() + 4, 2 * half, 20), Qt::AlignHCenter | Qt::AlignTop, text);
  }
}

void Scatter::paint_usable(QPainter& painter, const ScatterScale& scale) const {
  const QRectF area = plot();
  const double x = scale.x(usable_);
  if (x < area.right()) {
    QColor shade = theme_.bad;
    shade.setAlpha(18);
    painter.fillRect(QRectF(QPointF(x, area.top()), area.bottomRight()), shade);
  }
  painter.setPen(QPen(theme_.text, 1.5));
  painter.drawLine(QPointF(x, area.top() - 4), QPointF(x, area.bottom()));
  painter.setBrush(theme_.panel);
  painter.drawEllipse(QPointF(x, area.top() - 4), 4, 4);
  painter.drawLine(QPointF(x, area.top() - 8), QPointF(x, area.top()));
  painter.setPen(theme_.faint_text);
  for (const QString& text : {say("usable device memory"), say("usable")}) {
    const double wide = fontMetrics().horizontalAdvance(text);
    const bool right = x + 8 + wide + 4 <= width();
    const double at = right ? x + 8 : x - 8 - wide;
    if (at < fontMetrics().horizontalAdvance(say("step time")) + 12) continue;  // no room: the shorter word
    return painter.drawText(QRectF(at, 0, wide + 2, fontMetrics().height() + 2), Qt::AlignLeft | Qt::AlignTop, text);
  }
}

void Scatter::paint_frontier(QPainter& painter, const ScatterScale& scale) const {
  QPolygonF line;
  for (const ScatterPoint& point : points_) {
    if (!point.best) continue;
    const QPointF place = scale.at(point);
    if (!line.isEmpty()) line << QPointF(place.x(), line.back().y());
    line << place;
  }
  QColor color = theme_.accent;
  color.setAlpha(150);
  painter.setPen(QPen(color, 1.5));
  painter.setBrush(Qt::NoBrush);
  painter.drawPolyline(line);
}

void Scatter::paint_points(QPainter& painter, const ScatterScale& scale) const {
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const ScatterPoint& point = points_[i];
    const QPointF place = scale.at(point);
    QColor fill = point.best ? theme_.accent : theme_.faint_text;
    if (!point.best) fill.setAlpha(120);
    painter.setPen(point.fits ? QPen(theme_.panel, 1) : QPen(theme_.bad, 1.5));
    painter.setBrush(point.fits ? QBrush(fill) : QBrush(Qt::NoBrush));
    if (scale.beyond(point.device)) {
      painter.drawPolygon(QPolygonF({place + QPointF(-5, -5), place + QPointF(4, 0), place + QPointF(-5, 5)}));  // further right
    } else {
      painter.drawEllipse(place, kRadius, kRadius);
    }
    const bool is_chosen = point.strategy == chosen_;
    if (!is_chosen && under_ != i) continue;
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(is_chosen ? theme_.good : theme_.text, 2));
    painter.drawEllipse(place, kRadius + 4, kRadius + 4);
  }
}

QString Scatter::tip(const ScatterPoint& point) const {
  QString text =
      QStringLiteral("<b>%1</b><br>%2, %3")
          .arg(QString::fromStdString(point.strategy.name), seconds_text(point.seconds), bytes_text(point.device));
  if (!point.fits) text += QStringLiteral("<br>") + say("does not fit");
  return point.told ? text : text + QStringLiteral("<br>") + strategy_words(point.strategy);
}

void Scatter::mousePressEvent(QMouseEvent* event) {
  const auto point = point_at(points_, scale(), event->position(), kReach);
  if (point) Q_EMIT chosen(points_[*point].strategy);
}

void Scatter::mouseMoveEvent(QMouseEvent* event) {
  const auto point = point_at(points_, scale(), event->position(), kReach);
  setCursor(point ? Qt::PointingHandCursor : Qt::ArrowCursor);
  if (point == under_) return;
  under_ = point;
  update();
}

void Scatter::leaveEvent(QEvent* /*event*/) {
  under_.reset();
  update();
}

void Scatter::step_focus(int by) {
  if (points_.empty()) return;
  const auto count = static_cast<int>(points_.size());
  const int from = under_ ? static_cast<int>(*under_) : by > 0 ? -1 : count;
  under_ = static_cast<std::size_t>(std::clamp(from + by, 0, count - 1));
  QToolTip::showText(mapToGlobal(place_of(*under_).toPoint()), tip(points_[*under_]), this);
  update();
}

void Scatter::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Right:
    case Qt::Key_Up: return step_focus(1);
    case Qt::Key_Left:
    case Qt::Key_Down: return step_focus(-1);
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_Space:
      if (under_) Q_EMIT chosen(points_[*under_].strategy);
      return;
    default: QWidget::keyPressEvent(event);
  }
}

bool Scatter::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const auto point = point_at(points_, scale(), help->pos(), kReach);
  QToolTip::showText(help->globalPos(), point ? tip(points_[*point]) : QString(), this);
  return true;
}

}  // namespace plimsoll::gui
