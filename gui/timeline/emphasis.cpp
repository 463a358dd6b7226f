#include "gui/timeline/emphasis.h"

#include <algorithm>

#include "core/trace/critical_path.h"
#include "gui/timeline/build_timeline.h"

namespace plimsoll::gui {

Emphasis critical_emphasis(const TimelineScene& scene, std::uint32_t source, std::uint32_t step) {
  const Timeline& timeline = *scene.sources[source].timeline;
  if (timeline.plan == nullptr) return {};
  const Trace trace = trace_of_steps(timeline, step == 0 ? 0 : step - 1, step);
  const std::vector<CriticalEvent> path = critical_path(*timeline.plan, timeline.body, trace, step);
  if (path.empty()) return {};
  Emphasis emphasis{.rows = std::vector<EventLane>(scene.rows.size())};
  std::vector<std::vector<EventRef>> of_row(scene.rows.size());
  for (const CriticalEvent& event : path) {
    const auto ref = find_event(timeline, step, event.instruction);
    const auto row = ref ? row_of(scene, {source, *ref}) : std::nullopt;
    if (row) of_row[*row].push_back(*ref);
  }
  for (std::size_t row = 0; row < of_row.size(); ++row) {
    std::sort(of_row[row].begin(), of_row[row].end(), [](const EventRef& a, const EventRef& b) { return a.index < b.index; });
    for (const EventRef& ref : of_row[row]) emphasis.rows[row].add(event_at(timeline, ref));
    emphasis.rows[row].finish();
  }
  return emphasis;
}

Emphasis search_emphasis(const TimelineScene& scene, std::uint32_t source, const EventQuery& query) {
  if (query.empty()) return {};
  Emphasis emphasis{.rows = std::vector<EventLane>(scene.rows.size())};
  for (std::size_t r = 0; r < scene.rows.size(); ++r) {
    const SceneRow& row = scene.rows[r];
    if (row.source != source) continue;
    const EventLane& lane = scene.sources[source].timeline->tracks[row.track].lanes[row.lane];
    for (std::size_t i = 0; i < lane.size(); ++i) {
      if (query.matches(lane.label(i))) emphasis.rows[r].add(lane.at(i));
    }
    emphasis.rows[r].finish();
  }
  return emphasis;
}

}  // namespace plimsoll::gui
