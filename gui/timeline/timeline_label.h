#pragma once

#include <cstdint>

namespace plimsoll::gui {

/// What a label of a lane stands for.
struct TimelineLabel {
  std::uint32_t name = 0;  ///< index into Timeline::names
  std::uint8_t paint = 0;  ///< index into a table of colours (see paint_index)
};

}  // namespace plimsoll::gui
