#include <algorithm>

#include "gui/language/say.h"
#include "gui/timeline/place_details.h"
#include "gui/timeline/timeline_painter.h"

// What TimelinePainter draws on strips of places.

namespace plimsoll::gui {

void TimelinePainter::paint_strip_names() {
  for (const SceneStrip& at : scene_.strips) {
    const PlaceStrip& strip = scene_.sources[at.source].timeline->strips[at.strip];
    const QRectF area(10, row_y(at.top), state_.scale.left - 20, at.height);
    painter_.setPen(theme_.text);
    painter_.drawText(area, Qt::AlignLeft | Qt::AlignTop, strip_name(strip.part));
    painter_.setPen(theme_.faint_text);
    painter_.drawText(area.adjusted(0, 17, 0, 0), Qt::AlignLeft | Qt::AlignTop, say("where, by block"));
  }
}

/// The stay that the pointer is on, framed and named.
void TimelinePainter::paint_place() {
  const SceneStrip& at = scene_.strips[state_.place->at];
  const SceneSource& source = scene_.sources[at.source];
  const auto lanes = source.timeline->strips[at.strip].lanes.size();
  const LaneEvent stay = place_event(scene_, *state_.place);
  const double a_lane = static_cast<double>(at.height) / static_cast<double>(lanes);
  const double left = std::max(state_.scale.x_of(static_cast<double>(stay.start) - source.origin), state_.scale.left);
  const double right = std::min(state_.scale.x_of(static_cast<double>(stay.end) - source.origin),
                                state_.scale.left + state_.scale.width);
  const QRectF box(left, row_y(at.top) + state_.place->lane * a_lane, std::max(right - left, 1.0), std::max(a_lane, 2.0));
  painter_.setBrush(Qt::NoBrush);
  painter_.setPen(QPen(theme_.text, 1));
  painter_.drawRect(box.adjusted(-0.5, -0.5, 0.5, 0.5));
  paint_hint_at(place_title(scene_, *state_.place) + QStringLiteral(": ") + place_name(static_cast<PlaceState>(stay.label)), box);
}

}  // namespace plimsoll::gui
