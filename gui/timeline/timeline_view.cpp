#include "gui/timeline/timeline_view.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

#include "gui/timeline/timeline_painter.h"

namespace plimsoll::gui {
namespace {

constexpr double kZoomStep = 0.8;      // of what is shown, for a notch of the wheel or a key
constexpr double kPanShare = 0.15;     // of the width, for a key
constexpr double kClickPixels = 4;     // a press that moves less is a click
constexpr double kRevealShare = 0.08;  // of the width that a revealed event takes at least, where it is shorter than a pixel
constexpr int kNotch = 120;

}  // namespace

TimelineView::TimelineView(QWidget* parent) : QAbstractScrollArea(parent), theme_(light_theme()) {
  setFrameShape(QFrame::NoFrame);
  setFocusPolicy(Qt::StrongFocus);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  viewport()->setMouseTracking(true);
  lay_out_view();
}

void TimelineView::set_scene(TimelineScene scene) {
  scene_ = std::move(scene);
  emphasis_ = {};
  const bool bubbles = state_.bubbles;
  state_ = {};
  state_.bubbles = bubbles;
  minimap_stale_ = true;
  verticalScrollBar()->setValue(0);
  lay_out_view();
  show_all();
}

void TimelineView::apply_theme(const Theme& theme) {
  theme_ = theme;
  minimap_stale_ = true;
  forget_picture();
}

void TimelineView::forget_picture() {
  rows_stale_ = true;
  viewport()->update();
}

QSize TimelineView::rows_size() const {
  return {static_cast<int>(state_.scale.width), std::max(viewport()->height() - ViewMetrics::kRows, 1)};
}

void TimelineView::lay_out_view() {
  const double width = std::max(viewport()->width() - ViewMetrics::kGutter - ViewMetrics::kRightMargin, 50);
  state_.scale = resized(state_.scale, ViewMetrics::kGutter, width);
  TimelineScene filled = lay_out(scene_.sources, sizes_for(scene_, rows_size().height() - 12));
  scene_ = std::move(filled);
  const int hidden = std::max(scene_.height + 8 - rows_size().height(), 0);
  verticalScrollBar()->setRange(0, hidden);
  verticalScrollBar()->setPageStep(rows_size().height());
  state_.scroll = verticalScrollBar()->value();
  forget_picture();
}

void TimelineView::set_scale(const TimeScale& scale) {
  const TimeScale held = held_within(scale, scene_.bounds);
  if (held == state_.scale) return;
  state_.scale = held;
  forget_picture();
  Q_EMIT viewChanged();
}

void TimelineView::show_range(double begin, double end, double share) { set_scale(around(state_.scale, begin, end, share)); }

void TimelineView::show_all() { set_scale(fitted(scene_.bounds, state_.scale.left, state_.scale.width)); }

void TimelineView::select(const std::optional<SceneEvent>& event, bool reveal_it) {
  if (event == state_.selected && !reveal_it) return;
  state_.selected = event;
  state_.before.clear();
  state_.after.clear();
  if (event && reveal_it) reveal(*event);
  viewport()->update();
  Q_EMIT selected();
}

/// Moves the view only as far as needed, and closer where the event would not be seen.
void TimelineView::reveal(const SceneEvent& event) {
  const LaneEvent times = scene_times(scene_, event);
  const auto begin = static_cast<double>(times.start);
  const auto end = static_cast<double>(times.end);
  const bool outside = begin < state_.scale.begin || end > state_.scale.end();
  const bool tiny = (end - begin) / state_.scale.ns_per_pixel < 2;
  if (tiny) {
    show_range(begin, end, kRevealShare);
  } else if (outside && end - begin > state_.scale.span()) {
    show_range(begin, end, 0.8);
  } else if (outside) {
    TimeScale moved = state_.scale;
    moved.begin = (begin + end) / 2 - moved.span() / 2;
    set_scale(moved);
  }
  if (const auto row = row_of(scene_, event)) {
    const int top = scene_.rows[*row].top;
    const int bottom = top + scene_.rows[*row].height;
    if (top < state_.scroll) verticalScrollBar()->setValue(top);
    if (bottom > state_.scroll + rows_size().height()) verticalScrollBar()->setValue(bottom - rows_size().height());
  }
}

void TimelineView::set_emphasis(Emphasis emphasis) {
  emphasis_ = std::move(emphasis);
  forget_picture();
}

void TimelineView::set_bubbles(bool shown) {
  state_.bubbles = shown;
  viewport()->update();
}

void TimelineView::set_links(std::vector<SceneEvent> before, std::vector<SceneEvent> after) {
  state_.before = std::move(before);
  state_.after = std::move(after);
  viewport()->update();
}

void TimelineView::clear_range() {
  if (!state_.range) return;
  state_.range.reset();
  viewport()->update();
  Q_EMIT rangeSelected();
}

void TimelineView::refresh_rows() {
  const double ratio = devicePixelRatioF();
  if (minimap_stale_ || minimap_.width() != static_cast<int>(state_.scale.width * ratio)) {
    minimap_ = paint_minimap_image(scene_, theme_, {static_cast<int>(state_.scale.width), ViewMetrics::kMinimap - 7}, ratio);
    minimap_stale_ = false;
  }
  if (!rows_stale_) return;
  rows_ = paint_rows({scene_, emphasis_, theme_, state_.scale, state_.scroll, rows_size(), ratio});
  rows_.image.setDevicePixelRatio(ratio);
  rows_stale_ = false;
}

void TimelineView::paint_on(QPainter& painter) {
  refresh_rows();
  TimelinePainter(painter, scene_, state_, theme_, viewport()->size()).paint(rows_, minimap_);
}

void TimelineView::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(viewport());
  paint_on(painter);
}

void TimelineView::resizeEvent(QResizeEvent* event) {
  QAbstractScrollArea::resizeEvent(event);
  lay_out_view();
}

void TimelineView::scrollContentsBy(int /*dx*/, int /*dy*/) {
  state_.scroll = verticalScrollBar()->value();
  forget_picture();
}

void TimelineView::wheelEvent(QWheelEvent* event) {
  const QPoint turn = event->angleDelta();
  const double notches = static_cast<double>(turn.y() != 0 ? turn.y() : turn.x()) / kNotch;
  if (event->position().x() < state_.scale.left) {
    QAbstractScrollArea::wheelEvent(event);
    return;
  }
  if ((event->modifiers() & Qt::ShiftModifier) != 0 || std::abs(turn.x()) > std::abs(turn.y())) {
    set_scale(panned(state_.scale, -notches * state_.scale.width * kPanShare));
  } else {
    set_scale(zoomed(state_.scale, std::pow(kZoomStep, notches), event->position().x()));
  }
  event->accept();
}

void TimelineView::begin_drag(const QMouseEvent& event) {
  const bool pans = event.button() == Qt::MiddleButton || (event.modifiers() & Qt::ShiftModifier) != 0;
  const double y = event.position().y();
  drag_ = y < ViewMetrics::kMinimap ? Drag::kMinimap : pans || y < ViewMetrics::kRows ? Drag::kPan : Drag::kRange;
  pressed_ = last_ = event.position();
}

void TimelineView::mousePressEvent(QMouseEvent* event) {
  if (event->button() == Qt::RightButton || event->position().x() < state_.scale.left) return;
  begin_drag(*event);
  if (drag_ == Drag::kMinimap) move_minimap(event->position().x());
}

void TimelineView::move_minimap(double x) {
  const TimeScale whole = fitted(scene_.bounds, state_.scale.left, state_.scale.width);
  TimeScale moved = state_.scale;
  moved.begin = whole.time_at(x) - moved.span() / 2;
  set_scale(moved);
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) {
  const QPointF at = event->position();
  if (drag_ == Drag::kNone) {
    hover(at);
  } else if (drag_ == Drag::kMinimap) {
    move_minimap(at.x());
  } else if (drag_ == Drag::kPan) {
    set_scale(panned(state_.scale, last_.x() - at.x()));
  } else if (std::abs(at.x() - pressed_.x()) >= kClickPixels) {
    const double one = state_.scale.time_at(std::max(pressed_.x(), state_.scale.left));
    const double other = state_.scale.time_at(std::max(at.x(), state_.scale.left));
    state_.range = TimeBounds{std::min(one, other), std::max(one, other)};
    viewport()->update();
  }
  last_ = at;
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event) {
  const Drag ended = std::exchange(drag_, Drag::kNone);
  if (ended != Drag::kRange) return;
  if (std::abs(event->position().x() - pressed_.x()) < kClickPixels) {
    click(event->position());
  } else {
    Q_EMIT rangeSelected();
  }
}

void TimelineView::click(const QPointF& at) {
  if (const auto curve = curve_at(scene_, rows_y(at.y()))) {
    Q_EMIT peakClicked(static_cast<int>(*curve));
    return;
  }
  if (const auto place = place_under(scene_, state_.scale, at.x(), rows_y(at.y()))) {
    Q_EMIT placeClicked(*place);
    return;
  }
  select(event_under(scene_, state_.scale, at.x(), rows_y(at.y())));
}

void TimelineView::mouseDoubleClickEvent(QMouseEvent* event) {
  const auto event_here = event_under(scene_, state_.scale, event->position().x(), rows_y(event->position().y()));
  if (!event_here) return;
  const LaneEvent times = scene_times(scene_, *event_here);
  show_range(static_cast<double>(times.start), static_cast<double>(times.end), 0.6);
}

void TimelineView::hover(const QPointF& at) {
  const bool inside = at.x() >= state_.scale.left && at.y() >= ViewMetrics::kRows;
  const auto found = inside ? event_under(scene_, state_.scale, at.x(), rows_y(at.y())) : std::nullopt;
  const auto place = inside ? place_under(scene_, state_.scale, at.x(), rows_y(at.y())) : std::nullopt;
  if (found == state_.hovered && place == state_.place) return;
  state_.hovered = found;
  state_.place = place;
  viewport()->update();
}

bool TimelineView::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::Leave && (state_.hovered || state_.place)) {
    state_.hovered.reset();
    state_.place.reset();
    viewport()->update();
  }
  return QAbstractScrollArea::viewportEvent(event);
}

}  // namespace plimsoll::gui
