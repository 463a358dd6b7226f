#include "gui/timeline/selection_statistics.h"

#include <algorithm>
#include <cmath>

namespace plimsoll::gui {
namespace {

struct Stretch {
  std::int64_t begin;
  std::int64_t end;
};

/// Calls visit(event, clipped) for the lane's events in the range.
template <typename Visit>
void for_each_in(const EventLane& lane, double begin, double end, const Visit& visit) {
  const auto from = static_cast<std::int64_t>(std::floor(begin));
  const auto to = static_cast<std::int64_t>(std::ceil(end));
  for (std::size_t i = lane.first_ending_after(begin); i < lane.size() && lane.start(i) < to; ++i) {
    visit(i, Stretch{std::max(lane.start(i), from), std::min(lane.end(i), to)});
  }
}

/// Time that at least one stretch covers.
std::int64_t covered(std::vector<Stretch>& stretches) {
  std::sort(stretches.begin(), stretches.end(), [](const Stretch& a, const Stretch& b) { return a.begin < b.begin; });
  std::int64_t sum = 0;
  std::int64_t reached = INT64_MIN;
  for (const Stretch& stretch : stretches) {
    const std::int64_t from = std::max(stretch.begin, reached);
    sum += std::max<std::int64_t>(stretch.end - from, 0);
    reached = std::max(reached, stretch.end);
  }
  return sum;
}

}  // namespace

SelectionStatistics select_range(const Timeline& timeline, double begin, double end) {
  SelectionStatistics statistics{.begin = begin, .end = end};
  std::vector<NameStatistics> by_name(timeline.names.size());
  for (std::uint32_t t = 0; t < timeline.tracks.size(); ++t) {
    std::vector<Stretch> stretches;
    for (const EventLane& lane : timeline.tracks[t].lanes) {
      for_each_in(lane, begin, end, [&](std::size_t i, const Stretch& inside) {
        const TimelineLabel& label = timeline.labels[lane.label(i)];
        NameStatistics& sum = by_name[label.name];
        sum.name = label.name;
        sum.paint = label.paint;
        ++sum.count;
        sum.total += inside.end - inside.begin;
        sum.longest = std::max(sum.longest, inside.end - inside.begin);
        stretches.push_back(inside);
      });
    }
    if (stretches.empty()) continue;
    const std::int64_t busy = covered(stretches);
    statistics.tracks.push_back({t, busy, static_cast<double>(busy) / std::max(end - begin, 1.0)});
  }
  for (const NameStatistics& sum : by_name) {
    if (sum.count > 0) statistics.names.push_back(sum);
  }
  std::stable_sort(statistics.names.begin(), statistics.names.end(),
                   [](const NameStatistics& a, const NameStatistics& b) { return a.total > b.total; });
  return statistics;
}

}  // namespace plimsoll::gui
