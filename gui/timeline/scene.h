#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gui/timeline/timeline.h"

namespace plimsoll::gui {

/// A timeline in a scene. Scene time is its own time less `origin`.
struct SceneSource {
  SharedTimeline timeline;
  double origin = 0;
  std::string tag;  ///< "predicted", "measured", or "First", "Second" of one world; empty where there is one source
};

/// A lane and where it is drawn, in pixels from the top of the rows.
struct SceneRow {
  std::uint32_t source = 0;
  std::uint32_t track = 0;
  std::uint32_t lane = 0;
  int top = 0;
  int height = 0;
  bool first_of_track = false;
  int track_height = 0;  ///< of all lanes of the track together
  bool named = false;    ///< the first of its track, and of those of the same queue that lie together
};

/// A memory curve and where it is drawn.
struct SceneCurve {
  std::uint32_t source = 0;
  std::uint32_t curve = 0;
  int top = 0;
  int height = 0;
};

/// Where one kind of data is over time, and where that is drawn.
struct SceneStrip {
  std::uint32_t source = 0;
  std::uint32_t strip = 0;
  int top = 0;
  int height = 0;
};

/// One or more timelines on one axis.
struct TimelineScene {
  std::vector<SceneSource> sources;
  std::vector<SceneRow> rows;
  std::vector<SceneCurve> curves;
  std::vector<SceneStrip> strips;
  int height = 0;
  TimeBounds bounds;
};

/// Sizes of what is stacked, in pixels.
struct SceneSizes {
  int lane = 22;         ///< height of a track of one lane
  int narrow_lane = 9;   ///< of each of several lanes
  int chore = 14;        ///< height of a track of loading and reporting
  int gap = 6;           ///< between tracks
  int curve = 96;
  int flat_curve = 34;   ///< of a curve that never changes
  int strip_lane = 2;    ///< of each block of a strip
  int strip_least = 34;  ///< a strip is at least so high,
  int strip_most = 110;  ///< and at most
  int pair_gap = 1;      ///< between the same track of two sources
};

/// Stacks tracks in which anything ran, queue by queue, each source's under the one before; then the memory curves, then, of a
/// single source, where the blocks' data is.
TimelineScene lay_out(std::vector<SceneSource> sources, const SceneSizes& sizes = {});

/// Sizes with which the scene fills `height`: curves grow, up to a limit.
SceneSizes sizes_for(const TimelineScene& scene, int height);

/// An event of a scene.
struct SceneEvent {
  std::uint32_t source = 0;
  EventRef ref;

  bool operator==(const SceneEvent&) const = default;
};

/// Begin and end of an event in scene time.
LaneEvent scene_times(const TimelineScene& scene, const SceneEvent& event);

/// The row at height `y`, if there is one.
std::optional<std::size_t> row_at(const TimelineScene& scene, double y);
/// The curve at height `y`, if there is one.
std::optional<std::size_t> curve_at(const TimelineScene& scene, double y);

/// A chunk's stay in a scene.
struct ScenePlace {
  std::uint32_t at = 0;  ///< index of the scene's strip
  std::uint32_t lane = 0;
  std::uint32_t index = 0;

  bool operator==(const ScenePlace&) const = default;
};

/// What of a strip lies under (x, y): the stay that covers x, else the longest within a pixel.
std::optional<ScenePlace> place_under(const TimelineScene& scene, const TimeScale& scale, double x, double y);

/// The row in which an event is drawn.
std::optional<std::size_t> row_of(const TimelineScene& scene, const SceneEvent& event);

/// The event under (x, y): the one that covers x, else the longest within `reach` pixels.
std::optional<SceneEvent> event_under(const TimelineScene& scene, const TimeScale& scale, double x, double y, double reach = 2);

/// The scale in a source's own time.
TimeScale own_scale(const TimeScale& scale, const SceneSource& source);

}  // namespace plimsoll::gui
