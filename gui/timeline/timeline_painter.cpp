#include "gui/timeline/timeline_painter.h"

#include <QFontMetricsF>

#include <algorithm>
#include <cmath>

#include "gui/language/say.h"
#include "gui/timeline/time_ticks.h"

namespace plimsoll::gui {
namespace {

constexpr double kTickPixels = 96;

QColor with_alpha(QColor colour, double alpha) {
  colour.setAlphaF(static_cast<float>(alpha));
  return colour;
}

QString words(const std::string& text) { return QString::fromStdString(text); }

}  // namespace

TimelinePainter::TimelinePainter(QPainter& painter, const TimelineScene& scene, const ViewState& state, const Theme& theme,
                                 const QSize& size)
    : painter_(painter), scene_(scene), state_(state), theme_(theme), size_(size), colours_(work_colours(theme)) {}

QRectF TimelinePainter::rows_area() const {
  return {state_.scale.left, static_cast<double>(ViewMetrics::kRows), state_.scale.width,
          static_cast<double>(size_.height() - ViewMetrics::kRows)};
}

void TimelinePainter::clip_to_rows() { painter_.setClipRect(rows_area()); }

void TimelinePainter::paint(const RowsImage& rows, const QImage& minimap) {
  painter_.fillRect(QRect(QPoint(), size_), theme_.panel);
  painter_.save();
  clip_to_rows();
  painter_.drawImage(rows_area().topLeft(), rows.image);
  paint_bubbles(rows);
  paint_labels(rows);
  paint_grid();
  paint_steps();
  paint_curves();
  paint_range();
  paint_arrows();
  if (state_.hovered) paint_outline(*state_.hovered, theme_.text, 1);
  if (state_.selected) paint_outline(*state_.selected, theme_.text, 2);
  painter_.restore();
  paint_gutter();
  paint_minimap(minimap);
  paint_ruler();
  paint_hint();
}

void TimelinePainter::paint_minimap(const QImage& minimap) {
  const QRectF area(state_.scale.left, 0, state_.scale.width, ViewMetrics::kMinimap);
  painter_.drawImage(area.topLeft() + QPointF(0, 4), minimap);
  const TimeScale whole = fitted(scene_.bounds, state_.scale.left, state_.scale.width);
  const double left = whole.x_of(state_.scale.begin);
  const double right = std::max(whole.x_of(state_.scale.end()), left + 3);
  const QColor shade = with_alpha(theme_.panel, 0.66);
  painter_.fillRect(QRectF(area.left(), 2, left - area.left(), ViewMetrics::kMinimap - 2), shade);
  painter_.fillRect(QRectF(right, 2, area.right() - right, ViewMetrics::kMinimap - 2), shade);
  painter_.setPen(QPen(theme_.accent, 1.5));
  painter_.setBrush(Qt::NoBrush);
  painter_.drawRoundedRect(QRectF(left, 2, right - left, ViewMetrics::kMinimap - 3), 3, 3);
}

void TimelinePainter::paint_ruler() {
  const double top = ViewMetrics::kMinimap;
  painter_.save();
  painter_.setClipRect(QRectF(state_.scale.left, top, state_.scale.width, ViewMetrics::kRuler));
  const double distance = tick_distance(state_.scale, kTickPixels);
  painter_.setPen(theme_.faint_text);
  const double bottom = top + ViewMetrics::kRuler;
  for (const double time : tick_times(state_.scale, distance)) {
    const double x = std::round(state_.scale.x_of(time)) + 0.5;
    painter_.drawLine(QPointF(x, bottom - 5), QPointF(x, bottom - 1));
    const QString text = words(tick_text(time, distance));
    if (x + 4 + painter_.fontMetrics().horizontalAdvance(text) > state_.scale.left + state_.scale.width) continue;  // cut off
    painter_.drawText(QRectF(x + 4, bottom - 18, kTickPixels, 16), Qt::AlignLeft | Qt::AlignVCenter, text);
  }
  painter_.restore();
  painter_.setPen(theme_.border);
  painter_.drawLine(QPointF(0, bottom - 0.5), QPointF(size_.width(), bottom - 0.5));
}

void TimelinePainter::paint_grid() {
  painter_.setPen(with_alpha(theme_.text, 0.07));
  for (const double time : tick_times(state_.scale, tick_distance(state_.scale, kTickPixels))) {
    const double x = std::round(state_.scale.x_of(time)) + 0.5;
    painter_.drawLine(QPointF(x, rows_area().top()), QPointF(x, rows_area().bottom()));
  }
}

void TimelinePainter::paint_steps() {
  if (scene_.sources.empty()) return;
  const SceneSource& source = scene_.sources.front();
  painter_.save();
  painter_.setClipRect(QRectF(state_.scale.left, ViewMetrics::kMinimap, state_.scale.width, size_.height()));
  for (const StepMark& step : source.timeline->steps) {
    const double left = state_.scale.x_of(static_cast<double>(step.begin) - source.origin);
    const double right = state_.scale.x_of(static_cast<double>(step.end) - source.origin);
    if (right < state_.scale.left || left > state_.scale.left + state_.scale.width || right - left < 4) continue;
    painter_.setPen(QPen(with_alpha(theme_.text, 0.35), 1, Qt::DashLine));
    painter_.drawLine(QPointF(std::round(right) + 0.5, ViewMetrics::kMinimap + 2),
                      QPointF(std::round(right) + 0.5, size_.height()));
    const double shown_left = std::max(left, state_.scale.left) + 4;
    const double shown_right = std::min(right, state_.scale.left + state_.scale.width) - 4;
    const QString name =
        say("step %1 · %2").arg(step.step).arg(words(duration_text(static_cast<double>(step.end - step.begin))));
    const double width = painter_.fontMetrics().horizontalAdvance(name);
    if (width > shown_right - shown_left) continue;
    painter_.setPen(theme_.text);
    painter_.drawText(QRectF(shown_left, ViewMetrics::kMinimap + 2, width + 2, 15), Qt::AlignLeft | Qt::AlignVCenter, name);
  }
  painter_.restore();
}

void TimelinePainter::paint_labels(const RowsImage& rows) {
  painter_.save();
  QFont font = painter_.font();
  font.setPointSizeF(font.pointSizeF() * 0.88);
  painter_.setFont(font);
  const QFontMetricsF metrics(font);
  for (std::size_t r = 0; r < rows.rows.size(); ++r) {
    const SceneRow& row = scene_.rows[r];
    if (row.height < metrics.height()) continue;
    const Timeline& timeline = *scene_.sources[row.source].timeline;
    const EventLane& lane = timeline.tracks[row.track].lanes[row.lane];
    for (const LaneBox& box : rows.rows[r].boxes) {
      const TimelineLabel& label = timeline.labels[lane.label(box.event)];
      const QRectF area(state_.scale.left + box.left / rows.ratio + 4, row_y(row.top), (box.right - box.left) / rows.ratio - 7,
                        row.height);
      const QString text = metrics.elidedText(words(timeline.names[label.name]), Qt::ElideRight, area.width());
      if (text.size() < 3) continue;
      painter_.setPen(
          text_on(QColor::fromRgb(rows.image.pixel(std::min(box.left + 1, rows.image.width() - 1),
                                                   static_cast<int>((area.center().y() - ViewMetrics::kRows) * rows.ratio)))));
      painter_.drawText(area, Qt::AlignLeft | Qt::AlignVCenter, text);
    }
  }
  painter_.restore();
}

void TimelinePainter::paint_bubbles(const RowsImage& rows) {
  if (!state_.bubbles) return;
  constexpr double kWorded = 60;
  for (std::size_t r = 0; r < rows.rows.size(); ++r) {
    const SceneRow& row = scene_.rows[r];
    const TimelineTrack& track = scene_.sources[row.source].timeline->tracks[row.track];
    if (track.kind != QueueKind::kCompute) continue;
    const EventLane& lane = track.lanes[row.lane];
    for (const LaneGap& gap : rows.rows[r].gaps) {
      const QRectF area(state_.scale.left + gap.left / rows.ratio, row_y(row.top), (gap.right - gap.left) / rows.ratio,
                        row.height);
      painter_.fillRect(area, with_alpha(theme_.bad, 0.10));
      painter_.fillRect(area, QBrush(with_alpha(theme_.bad, 0.40), Qt::BDiagPattern));
      if (area.width() < kWorded || area.height() < 14) continue;
      const QString text = words(duration_text(static_cast<double>(lane.start(gap.next) - lane.end(gap.next - 1))));
      const double width = painter_.fontMetrics().horizontalAdvance(text) + 8;
      const QRectF label(area.center().x() - width / 2, area.top() + 3, width, area.height() - 6);
      painter_.setPen(Qt::NoPen);
      painter_.setBrush(theme_.panel);
      painter_.drawRoundedRect(label, 3, 3);
      painter_.setPen(theme_.bad);
      painter_.drawText(label, Qt::AlignCenter, text);
    }
  }
}

void TimelinePainter::paint_gutter() {
  painter_.fillRect(QRectF(0, 0, state_.scale.left, size_.height()), theme_.panel);
  painter_.save();
  painter_.setClipRect(QRectF(0, ViewMetrics::kRows, state_.scale.left, size_.height()));
  for (const SceneRow& row : scene_.rows) {
    if (!row.first_of_track) continue;
    const SceneSource& source = scene_.sources[row.source];
    const QString name = track_name(source.timeline->plan.get(), source.timeline->tracks[row.track].name);
    const QString tag = words(source.tag);
    const QRectF area(10, row_y(row.top) - 3, state_.scale.left - 20, row.track_height + 6);
    painter_.setPen(theme_.text);
    const int tagged = tag.isEmpty() ? 0 : painter_.fontMetrics().horizontalAdvance(tag) + 8;
    const QString fitting = painter_.fontMetrics().elidedText(name, Qt::ElideMiddle, static_cast<int>(area.width()) - tagged);
    if (row.named) painter_.drawText(area, Qt::AlignLeft | Qt::AlignVCenter, fitting);  // threads differ at both ends
    painter_.setPen(theme_.faint_text);
    if (!tag.isEmpty()) painter_.drawText(area, Qt::AlignRight | Qt::AlignVCenter, tag);
  }
  paint_curve_names();
  paint_strip_names();
  painter_.restore();
  painter_.setPen(theme_.border);
  painter_.drawLine(QPointF(state_.scale.left - 0.5, ViewMetrics::kMinimap), QPointF(state_.scale.left - 0.5, size_.height()));
}

void TimelinePainter::paint_range() {
  if (!state_.range) return;
  const double left = state_.scale.x_of(state_.range->begin);
  const double right = state_.scale.x_of(state_.range->end);
  const QRectF area(left, rows_area().top(), right - left, rows_area().height());
  painter_.fillRect(area, with_alpha(theme_.accent, 0.14));
  painter_.setPen(QPen(theme_.accent, 1));
  painter_.drawLine(area.topLeft(), area.bottomLeft());
  painter_.drawLine(area.topRight(), area.bottomRight());
}

QRectF TimelinePainter::box_of(const SceneEvent& event) const {
  const auto row = row_of(scene_, event);
  if (!row) return {};
  const LaneEvent times = scene_times(scene_, event);
  const double left = state_.scale.x_of(static_cast<double>(times.start));
  const double right = std::max(state_.scale.x_of(static_cast<double>(times.end)), left + 1);
  return {left, row_y(scene_.rows[*row].top), right - left, static_cast<double>(scene_.rows[*row].height)};
}

void TimelinePainter::paint_outline(const SceneEvent& event, const QColor& colour, int width) {
  const double edge = rows_area().width() + 20;
  QRectF box = box_of(event);
  if (box.isNull()) return;
  box.setLeft(std::max(box.left(), state_.scale.left - edge));
  box.setRight(std::min(box.right(), state_.scale.left + edge));
  painter_.setBrush(Qt::NoBrush);
  painter_.setPen(QPen(colour, width));
  painter_.drawRect(box.adjusted(-0.5, -0.5, 0.5, 0.5));
}

void TimelinePainter::paint_hint() {
  if (state_.place) return paint_place();
  if (!state_.hovered) return;
  const Timeline& timeline = *scene_.sources[state_.hovered->source].timeline;
  const LaneEvent event = event_at(timeline, state_.hovered->ref);
  paint_hint_at(words(timeline.name_of(event.label)) + QStringLiteral("  ") +
                    words(duration_text(static_cast<double>(event.end - event.start))),
                box_of(*state_.hovered));
}

void TimelinePainter::paint_hint_at(const QString& text, const QRectF& box) {
  const double width = painter_.fontMetrics().horizontalAdvance(text) + 14;
  const double x =
      std::clamp(box.center().x() - width / 2, state_.scale.left, std::max(state_.scale.left, size_.width() - width - 4));
  const double below = box.bottom() + 6;
  const double y = below + 22 > size_.height() ? box.top() - 28 : below;
  painter_.setPen(QPen(theme_.border, 1));
  painter_.setBrush(theme_.raised);
  painter_.drawRoundedRect(QRectF(x, y, width, 22), 4, 4);
  painter_.setPen(theme_.text);
  painter_.drawText(QRectF(x, y, width, 22), Qt::AlignCenter, text);
}

}  // namespace plimsoll::gui
