#include <QPainterPath>

#include <algorithm>
#include <cmath>

#include "core/base/quantity.h"
#include "gui/explore/words.h"
#include "gui/language/say.h"
#include "gui/timeline/timeline_painter.h"

// What TimelinePainter draws on memory curves, and its arrows.

namespace plimsoll::gui {
void TimelinePainter::paint_curves() {
  for (const SceneCurve& curve : scene_.curves) paint_curve(curve);
}

void TimelinePainter::paint_curve(const SceneCurve& at) {
  const SceneSource& source = scene_.sources[at.source];
  const MemoryCurve& curve = source.timeline->curves[at.curve];
  const double bottom = row_y(at.top + at.height);
  const double a_byte = at.height / curve_top(curve);
  painter_.setPen(theme_.border);
  painter_.drawLine(QPointF(state_.scale.left, bottom), QPointF(state_.scale.left + state_.scale.width, bottom));
  const double mark = bottom - static_cast<double>(curve.usable()) * a_byte;
  if (mark > row_y(at.top)) {
    painter_.setPen(QPen(theme_.bad, 1.2, Qt::DashLine));
    painter_.drawLine(QPointF(state_.scale.left, mark), QPointF(state_.scale.left + state_.scale.width, mark));
  }
  paint_peak(at, curve, a_byte);
}

void TimelinePainter::paint_curve_names() {
  for (const SceneCurve& at : scene_.curves) {
    const SceneSource& source = scene_.sources[at.source];
    const MemoryCurve& curve = source.timeline->curves[at.curve];
    const QRectF area(10, row_y(at.top), state_.scale.left - 20, at.height);
    painter_.setPen(theme_.text);
    painter_.drawText(area, Qt::AlignLeft | Qt::AlignTop, space_words(curve.space()));
    QString under = say("%1 usable").arg(bytes_text(Bytes(curve.usable())));
    if (!source.tag.empty()) under = QString::fromStdString(source.tag) + QStringLiteral("\n") + under;
    painter_.setPen(theme_.faint_text);
    painter_.drawText(area.adjusted(0, 18, 0, 0), Qt::AlignLeft | Qt::AlignTop, under);
  }
}

void TimelinePainter::paint_peak(const SceneCurve& at, const MemoryCurve& curve, double a_byte) {
  if (curve.points().empty()) return;
  const double origin = scene_.sources[at.source].origin;
  const std::size_t highest = curve.highest(state_.scale.begin + origin, state_.scale.end() + origin);
  if (highest == MemoryCurve::npos) return;
  const CurvePoint& peak = curve.points()[highest];
  const bool of_all = peak.total() == curve.points()[curve.peak()].total();
  const double x = std::max(state_.scale.x_of(static_cast<double>(peak.time) - origin), state_.scale.left + 5);
  const double y = row_y(at.top + at.height) - static_cast<double>(peak.total()) * a_byte;
  painter_.setRenderHint(QPainter::Antialiasing);
  painter_.setPen(QPen(theme_.panel, 1.5));
  painter_.setBrush(of_all ? theme_.text : theme_.faint_text);
  painter_.drawEllipse(QPointF(x, y), 4.5, 4.5);
  painter_.setRenderHint(QPainter::Antialiasing, false);
  const QString text = of_all ? say("peak %1").arg(bytes_text(Bytes(peak.total())))
                              : say("highest here %1").arg(bytes_text(Bytes(peak.total())));
  const double width = painter_.fontMetrics().horizontalAdvance(text) + 10;
  const bool leftwards = x + width + 10 > state_.scale.left + state_.scale.width;
  const QRectF label(leftwards ? x - width - 8 : x + 8, std::max(y - 9, row_y(at.top) + 1), width, 18);
  painter_.setPen(QPen(theme_.border, 1));
  painter_.setBrush(theme_.panel);
  painter_.drawRoundedRect(label, 4, 4);
  painter_.setPen(theme_.text);
  painter_.drawText(label, Qt::AlignCenter, text);
}

void TimelinePainter::paint_arrows() {
  if (!state_.selected) return;
  painter_.setRenderHint(QPainter::Antialiasing);
  for (const SceneEvent& from : state_.before) paint_arrow(from, *state_.selected, theme_.warning);
  for (const SceneEvent& to : state_.after) paint_arrow(*state_.selected, to, theme_.good);
  painter_.setRenderHint(QPainter::Antialiasing, false);
}

void TimelinePainter::paint_arrow(const SceneEvent& from, const SceneEvent& to, const QColor& colour) {
  const QRectF begin = box_of(from);
  const QRectF end = box_of(to);
  if (begin.isNull() || end.isNull()) return;
  const QPointF tail(begin.right(), begin.center().y());
  const QPointF head(end.left(), end.center().y());
  const double reach = std::clamp(std::abs(head.x() - tail.x()) / 2, 14.0, 120.0);
  QPainterPath path(tail);
  path.cubicTo(tail + QPointF(reach, 0), head - QPointF(reach, 0), head);
  painter_.setBrush(Qt::NoBrush);
  painter_.setPen(QPen(theme_.panel, 4));
  painter_.drawPath(path);
  painter_.setPen(QPen(colour, 1.8));
  painter_.drawPath(path);
  painter_.setPen(Qt::NoPen);
  painter_.setBrush(colour);
  painter_.drawPolygon(QPolygonF({head, head + QPointF(-8, -4), head + QPointF(-8, 4)}));
}

QImage paint_minimap_image(const TimelineScene& scene, const Theme& theme, const QSize& size, double ratio) {
  QImage image(std::max(static_cast<int>(size.width() * ratio), 1), std::max(static_cast<int>(size.height() * ratio), 1),
               QImage::Format_RGB32);
  image.fill(theme.window.rgb());
  image.setDevicePixelRatio(ratio);
  const WorkColours colours = work_colours(theme);
  std::vector<const SceneRow*> shown;
  for (const SceneRow& row : scene.rows) {
    if (row.first_of_track && row.source == 0) shown.push_back(&row);
  }
  std::vector<Pixel> pixels(static_cast<std::size_t>(image.width()));
  const TimeScale whole = fitted(scene.bounds, 0, image.width());
  for (std::size_t r = 0; r < shown.size(); ++r) {
    const SceneSource& source = scene.sources[shown[r]->source];
    const LanePaint paint{source.timeline->labels, colours, theme.window.rgb()};
    paint_lane(source.timeline->tracks[shown[r]->track].lanes[0], paint, own_scale(whole, source), pixels);
    const auto top = static_cast<int>(r) * image.height() / static_cast<int>(shown.size());
    const auto bottom = static_cast<int>(r + 1) * image.height() / static_cast<int>(shown.size());
    for (int y = top; y < bottom; ++y) std::copy(pixels.begin(), pixels.end(), reinterpret_cast<Pixel*>(image.scanLine(y)));
  }
  return image;
}

}  // namespace plimsoll::gui
