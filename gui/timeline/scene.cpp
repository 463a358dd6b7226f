#include "gui/timeline/scene.h"

#include <algorithm>

namespace plimsoll::gui {
namespace {

bool runs_anything(const TimelineTrack& track) {
  return std::any_of(track.lanes.begin(), track.lanes.end(), [](const EventLane& lane) { return lane.size() > 0; });
}

/// Whether as much is live at every moment.
bool is_flat(const MemoryCurve& curve) {
  const auto& points = curve.points();
  return std::all_of(points.begin(), points.end(), [&](const CurvePoint& point) { return point.bytes == points.front().bytes; });
}

/// Stacks rows from the top down.
class Stacker {
 public:
  Stacker(TimelineScene& scene, const SceneSizes& sizes) : scene_(scene), sizes_(sizes) {}

  /// A queue's tracks lie together, the first source's in its order, then what only others have.
  void add_tracks() {
    std::vector<std::vector<bool>> placed;
    for (const SceneSource& source : scene_.sources) placed.emplace_back(source.timeline->tracks.size(), false);
    for (std::uint32_t source = 0; source < scene_.sources.size(); ++source) {
      for (std::uint32_t track = 0; track < placed[source].size(); ++track) {
        if (!placed[source][track]) add_together(source, track, placed);
      }
    }
  }

  void add_curves() {
    for (std::uint32_t source = 0; source < scene_.sources.size(); ++source) {
      for (std::uint32_t curve = 0; curve < scene_.sources[source].timeline->curves.size(); ++curve) {
        const int height = is_flat(scene_.sources[source].timeline->curves[curve]) ? sizes_.flat_curve : sizes_.curve;
        scene_.curves.push_back({source, curve, y_ + sizes_.gap, height});
        y_ += height + 2 * sizes_.gap;
      }
    }
    scene_.height = y_;
  }

  void add_strips() {
    for (std::uint32_t source = 0; source < scene_.sources.size(); ++source) {
      const auto& strips = scene_.sources[source].timeline->strips;
      for (std::uint32_t strip = 0; strip < strips.size(); ++strip) {
        const int lanes = static_cast<int>(strips[strip].lanes.size()) * sizes_.strip_lane;
        const int height = std::clamp(lanes, sizes_.strip_least, sizes_.strip_most);
        scene_.strips.push_back({source, strip, y_ + sizes_.gap, height});
        y_ += height + 2 * sizes_.gap;
      }
    }
    scene_.height = y_;
  }

 private:
  /// A track and the first of its name of every later source.
  void add_together(std::uint32_t first, std::uint32_t track, std::vector<std::vector<bool>>& placed) {
    const std::string& name = scene_.sources[first].timeline->tracks[track].name;
    bool any = false;
    for (std::uint32_t source = first; source < scene_.sources.size(); ++source) {
      const auto& tracks = scene_.sources[source].timeline->tracks;
      std::uint32_t at = source == first ? track : 0;
      while (at < tracks.size() && (placed[source][at] || tracks[at].name != name)) ++at;
      if (at == tracks.size()) continue;
      placed[source][at] = true;
      if (!runs_anything(tracks[at])) continue;
      if (any) y_ += sizes_.pair_gap;
      add_track(source, at, tracks[at], !any);
      any = true;
    }
    if (any) y_ += sizes_.gap;
  }

  void add_track(std::uint32_t source, std::uint32_t track, const TimelineTrack& own, bool named) {
    const auto lanes = static_cast<int>(own.lanes.size());
    const int one = own.kind == QueueKind::kHostWork ? sizes_.chore : sizes_.lane;
    const int height = lanes == 1 ? one : sizes_.narrow_lane;
    for (int lane = 0; lane < lanes; ++lane) {
      scene_.rows.push_back({source, track, static_cast<std::uint32_t>(lane), y_, height, lane == 0, height * lanes, named && lane == 0});
      y_ += height;
    }
  }

  TimelineScene& scene_;
  const SceneSizes& sizes_;
  int y_ = 0;
};

}  // namespace

TimelineScene lay_out(std::vector<SceneSource> sources, const SceneSizes& sizes) {
  TimelineScene scene;
  scene.sources = std::move(sources);
  bool first = true;
  for (const SceneSource& source : scene.sources) {
    const TimeBounds own{source.timeline->bounds.begin - source.origin, source.timeline->bounds.end - source.origin};
    scene.bounds.begin = first ? own.begin : std::min(scene.bounds.begin, own.begin);
    scene.bounds.end = first ? own.end : std::max(scene.bounds.end, own.end);
    first = false;
  }
  Stacker stacker(scene, sizes);
  stacker.add_tracks();
  stacker.add_curves();
  if (scene.sources.size() == 1) stacker.add_strips();
  return scene;
}

SceneSizes sizes_for(const TimelineScene& scene, int height) {
  constexpr int kTallest = 170;
  SceneSizes sizes;
  const int plain = lay_out(scene.sources, sizes).height;
  const auto curved = static_cast<int>(
      std::count_if(scene.curves.begin(), scene.curves.end(), [&](const SceneCurve& at) {
        return !is_flat(scene.sources[at.source].timeline->curves[at.curve]);
      }));
  if (curved > 0 && height > plain) sizes.curve = std::min(sizes.curve + (height - plain) / curved, kTallest);
  return sizes;
}

LaneEvent scene_times(const TimelineScene& scene, const SceneEvent& event) {
  const SceneSource& source = scene.sources[event.source];
  LaneEvent times = event_at(*source.timeline, event.ref);
  times.start -= static_cast<std::int64_t>(source.origin);
  times.end -= static_cast<std::int64_t>(source.origin);
  return times;
}

std::optional<std::size_t> row_at(const TimelineScene& scene, double y) {
  for (std::size_t row = 0; row < scene.rows.size(); ++row) {
    if (y >= scene.rows[row].top && y < scene.rows[row].top + scene.rows[row].height) return row;
  }
  return std::nullopt;
}

std::optional<std::size_t> curve_at(const TimelineScene& scene, double y) {
  for (std::size_t curve = 0; curve < scene.curves.size(); ++curve) {
    if (y >= scene.curves[curve].top && y < scene.curves[curve].top + scene.curves[curve].height) return curve;
  }
  return std::nullopt;
}

std::optional<std::size_t> row_of(const TimelineScene& scene, const SceneEvent& event) {
  for (std::size_t r = 0; r < scene.rows.size(); ++r) {
    const SceneRow& row = scene.rows[r];
    if (row.source == event.source && row.track == event.ref.track && row.lane == event.ref.lane) return r;
  }
  return std::nullopt;
}

std::optional<SceneEvent> event_under(const TimelineScene& scene, const TimeScale& scale, double x, double y, double reach) {
  const auto at = row_at(scene, y);
  if (!at) return std::nullopt;
  const SceneRow& row = scene.rows[*at];
  const EventRef lane{row.track, row.lane, 0};
  const SceneSource& source = scene.sources[row.source];
  const EventLane& events = lane_of(*source.timeline, lane);
  const TimeScale own = own_scale(scale, source);
  const auto found = [&](std::size_t index) {
    return SceneEvent{row.source, {row.track, row.lane, static_cast<std::uint32_t>(index)}};
  };
  const std::size_t covering = events.first_ending_after(own.time_at(x));
  if (covering < events.size() && static_cast<double>(events.start(covering)) <= own.time_at(x)) return found(covering);
  const std::size_t first = events.first_ending_after(own.time_at(x - reach));
  const std::size_t last = events.first_starting_from(own.time_at(x + reach), first);
  const LaneBucket near = events.bucket(first, last);
  if (near.longest == LaneBucket::kNone) return std::nullopt;
  return found(near.longest);
}

std::optional<ScenePlace> place_under(const TimelineScene& scene, const TimeScale& scale, double x, double y) {
  for (std::uint32_t at = 0; at < scene.strips.size(); ++at) {
    const SceneStrip& drawn = scene.strips[at];
    if (y < drawn.top || y >= drawn.top + drawn.height) continue;
    const SceneSource& source = scene.sources[drawn.source];
    const auto& lanes = source.timeline->strips[drawn.strip].lanes;
    const auto lane = static_cast<std::uint32_t>((y - drawn.top) * static_cast<double>(lanes.size()) / drawn.height);
    const EventLane& stays = lanes[lane];
    const TimeScale own = own_scale(scale, source);
    const std::size_t first = stays.first_ending_after(own.time_at(x));
    if (first < stays.size() && static_cast<double>(stays.start(first)) <= own.time_at(x + 1)) {
      return ScenePlace{at, lane, static_cast<std::uint32_t>(first)};
    }
  }
  return std::nullopt;
}

TimeScale own_scale(const TimeScale& scale, const SceneSource& source) {
  TimeScale own = scale;
  own.begin += source.origin;
  return own;
}

}  // namespace plimsoll::gui
