#include <QKeyEvent>

#include "gui/timeline/timeline_view.h"

// What TimelineView does at keys.

namespace plimsoll::gui {
namespace {

constexpr double kZoomStep = 0.8;
constexpr double kPanShare = 0.15;

}  // namespace

bool TimelineView::move_by_key(int key) {
  const double pointer = viewport()->mapFromGlobal(QCursor::pos()).x();
  const double right = state_.scale.left + state_.scale.width;
  const double centre = state_.scale.left + state_.scale.width / 2;
  const double at = viewport()->underMouse() && pointer > state_.scale.left && pointer < right ? pointer : centre;
  switch (key) {
    case Qt::Key_W:
    case Qt::Key_Up:
    case Qt::Key_Plus: set_scale(zoomed(state_.scale, kZoomStep, at)); return true;
    case Qt::Key_S:
    case Qt::Key_Down:
    case Qt::Key_Minus: set_scale(zoomed(state_.scale, 1 / kZoomStep, at)); return true;
    case Qt::Key_A:
    case Qt::Key_Left: set_scale(panned(state_.scale, -state_.scale.width * kPanShare)); return true;
    case Qt::Key_D:
    case Qt::Key_Right: set_scale(panned(state_.scale, state_.scale.width * kPanShare)); return true;
    case Qt::Key_Home: show_all(); return true;
    default: return false;
  }
}

/// The event before or behind the selected one in its lane.
void TimelineView::select_beside(int by) {
  if (!state_.selected) return;
  SceneEvent other = *state_.selected;
  const EventLane& lane = lane_of(*scene_.sources[other.source].timeline, other.ref);
  if (by < 0 && other.ref.index == 0) return;
  if (by > 0 && other.ref.index + 1 >= lane.size()) return;
  other.ref.index += static_cast<std::uint32_t>(by);
  select(other, true);
}

bool TimelineView::select_by_key(int key) {
  switch (key) {
    case Qt::Key_Period: select_beside(1); return true;
    case Qt::Key_Comma: select_beside(-1); return true;
    case Qt::Key_BracketLeft:
      if (!state_.before.empty()) select(SceneEvent(state_.before.back()), true);
      return true;
    case Qt::Key_BracketRight:
      if (!state_.after.empty()) select(SceneEvent(state_.after.front()), true);
      return true;
    case Qt::Key_F:
      if (state_.selected) {
        const LaneEvent times = scene_times(scene_, *state_.selected);
        show_range(static_cast<double>(times.start), static_cast<double>(times.end), 0.6);
      } else if (state_.range) {
        show_range(state_.range->begin, state_.range->end);
      }
      return true;
    case Qt::Key_Escape:
      select(std::nullopt);
      clear_range();
      return true;
    default: return false;
  }
}

void TimelineView::keyPressEvent(QKeyEvent* event) {
  const bool plain = (event->modifiers() & (Qt::ControlModifier | Qt::AltModifier)) == 0;
  if (plain && (move_by_key(event->key()) || select_by_key(event->key()))) {
    event->accept();
    return;
  }
  QAbstractScrollArea::keyPressEvent(event);
}

}  // namespace plimsoll::gui
