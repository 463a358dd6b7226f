#include "gui/timeline/timeline.h"

#include <algorithm>
#include <utility>

namespace plimsoll::gui {
namespace {

/// Queues start their instructions in order, so a lane is in order of (step, id), too; a foreign trace may not be.
std::optional<std::size_t> index_in(const EventLane& lane, std::uint32_t step, std::uint32_t instruction) {
  std::size_t low = 0;
  std::size_t high = lane.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (std::pair(lane.step(middle), lane.label(middle)) < std::pair(step, instruction)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low < lane.size() && lane.step(low) == step && lane.label(low) == instruction) return low;
  return std::nullopt;
}

std::optional<std::size_t> searched_in(const EventLane& lane, std::uint32_t step, std::uint32_t instruction) {
  for (std::size_t i = 0; i < lane.size(); ++i) {
    if (lane.step(i) == step && lane.label(i) == instruction) return i;
  }
  return std::nullopt;
}

}  // namespace

std::size_t Timeline::event_count() const {
  std::size_t count = 0;
  for (const TimelineTrack& track : tracks) {
    for (const EventLane& lane : track.lanes) count += lane.size();
  }
  return count;
}

std::size_t Timeline::event_bytes() const {
  std::size_t bytes = 0;
  for (const TimelineTrack& track : tracks) {
    for (const EventLane& lane : track.lanes) bytes += lane.bytes();
  }
  return bytes;
}

std::uint32_t Timeline::typical_step() const {
  if (steps.empty()) return 0;
  if (kind == TraceKind::kPredicted) return steps[steps.size() < 3 ? steps.size() - 1 : steps.size() - 2].step;
  std::vector<StepMark> sorted = steps;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const StepMark& a, const StepMark& b) { return a.end - a.begin < b.end - b.begin; });
  return sorted[(sorted.size() - 1) / 2].step;
}

const StepMark* Timeline::step(std::uint32_t wanted) const {
  const auto found = std::find_if(steps.begin(), steps.end(), [&](const StepMark& mark) { return mark.step == wanted; });
  return found == steps.end() ? nullptr : &*found;
}

std::optional<EventRef> find_event(const Timeline& timeline, std::uint32_t step, std::uint32_t instruction) {
  if (instruction >= timeline.body.size()) return std::nullopt;
  const std::uint32_t track = timeline.body.list.instructions[instruction].queue.index;
  for (const auto& search : {index_in, searched_in}) {
    for (std::uint32_t lane = 0; lane < timeline.tracks[track].lanes.size(); ++lane) {
      if (const auto index = search(timeline.tracks[track].lanes[lane], step, instruction)) {
        return EventRef{track, lane, static_cast<std::uint32_t>(*index)};
      }
    }
  }
  return std::nullopt;
}

}  // namespace plimsoll::gui
