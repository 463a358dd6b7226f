#pragma once

#include <optional>
#include <vector>

#include "gui/timeline/emphasis.h"
#include "gui/timeline/scene.h"
#include "gui/timeline/time_scale.h"

namespace plimsoll::gui {

/// Where things lie in a timeline's widget, in logical pixels from its corner.
struct ViewMetrics {
  static constexpr int kGutter = 172;  ///< names of the tracks
  static constexpr int kMinimap = 24;
  static constexpr int kRuler = 34;
  static constexpr int kRows = kMinimap + kRuler + 6;  ///< top of the first row, unscrolled
  static constexpr int kRightMargin = 10;
};

/// All that a picture of a scene depends on, besides its theme.
struct ViewState {
  TimeScale scale;
  int scroll = 0;  ///< pixels of rows above the first one shown
  std::optional<SceneEvent> hovered;
  std::optional<ScenePlace> place;  ///< the stay of a chunk that is hovered
  std::optional<SceneEvent> selected;
  std::optional<TimeBounds> range;  ///< selected stretch of time
  std::vector<SceneEvent> before;   ///< what the selected event waited for
  std::vector<SceneEvent> after;    ///< what waited for it
  bool bubbles = true;
};

}  // namespace plimsoll::gui
