#include "gui/timeline/place_details.h"

#include <QLocale>

#include <algorithm>
#include <array>

#include "gui/language/say.h"
#include "gui/timeline/time_ticks.h"
#include "gui/timeline/work_colours.h"

namespace plimsoll::gui {
namespace {

const PlaceStrip& strip_of(const TimelineScene& scene, const ScenePlace& place) {
  const SceneStrip& at = scene.strips[place.at];
  return scene.sources[at.source].timeline->strips[at.strip];
}

QString time_text(std::int64_t nanoseconds) { return QString::fromStdString(duration_text(static_cast<double>(nanoseconds))); }

/// Of [begin, end), the time in each state.
std::array<std::int64_t, kPlaceStates> times_in(const EventLane& lane, std::int64_t begin, std::int64_t end) {
  std::array<std::int64_t, kPlaceStates> times{};
  for (std::size_t i = lane.first_ending_after(static_cast<double>(begin)); i < lane.size() && lane.start(i) < end; ++i) {
    times[lane.label(i)] += std::min(lane.end(i), end) - std::max(lane.start(i), begin);
  }
  return times;
}

}  // namespace

QString strip_name(CurvePart part) {
  switch (part) {
    case CurvePart::kParameters: return say("Weights");
    case CurvePart::kOptimizer: return say("Optimizer states");
    case CurvePart::kGradients: return say("Gradients");
    default: return say("Activations");
  }
}

LaneEvent place_event(const TimelineScene& scene, const ScenePlace& place) {
  return strip_of(scene, place).lanes[place.lane].at(place.index);
}

QString place_title(const TimelineScene& scene, const ScenePlace& place) {
  const PlaceStrip& strip = strip_of(scene, place);
  return say("%1 of block %2").arg(strip_name(strip.part)).arg(strip.blocks[place.lane]);
}

std::vector<DetailLine> place_details(const TimelineScene& scene, const ScenePlace& place) {
  const Timeline& timeline = *scene.sources[scene.strips[place.at].source].timeline;
  const LaneEvent stay = place_event(scene, place);
  std::vector<DetailLine> lines{{say("Is"), place_name(static_cast<PlaceState>(stay.label))},
                                {say("Duration"), time_text(stay.end - stay.start)}};
  const auto step = std::find_if(timeline.steps.begin(), timeline.steps.end(),
                                 [&](const StepMark& mark) { return stay.start >= mark.begin && stay.start < mark.end; });
  if (step == timeline.steps.end() || step->end <= step->begin) return lines;
  lines.push_back({say("Since"), say("%1 into step %2").arg(time_text(stay.start - step->begin)).arg(step->step)});
  const auto times = times_in(strip_of(scene, place).lanes[place.lane], step->begin, step->end);
  const double whole = static_cast<double>(step->end - step->begin);
  for (std::size_t state = 0; state < kPlaceStates; ++state) {
    if (times[state] == 0) continue;
    const QString share = QLocale().toString(100 * static_cast<double>(times[state]) / whole, 'f', 1);
    lines.push_back({place_name(static_cast<PlaceState>(state)), say("%1 % of the step").arg(share)});
  }
  return lines;
}

}  // namespace plimsoll::gui
