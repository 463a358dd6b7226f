#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/plan/expand.h"
#include "core/trace/trace.h"
#include "gui/timeline/event_lane.h"
#include "gui/timeline/memory_curve.h"
#include "gui/timeline/timeline_label.h"

namespace plimsoll::gui {

/// Where a chunk of data is at a moment, and what it is there for.
enum class PlaceState : std::uint8_t {
  kDrive,     ///< on the SSD
  kHost,      ///< in host memory
  kArriving,  ///< on its way to the device
  kLeaving,   ///< on its way from the device
  kToDrive,   ///< on its way to the SSD
  kFromDrive, ///< on its way from the SSD
  kDevice,    ///< held on the device
  kInUse,     ///< a kernel works on it, on the device or (the optimizer) in host memory
};
inline constexpr std::size_t kPlaceStates = 8;

/// One kind of data of all blocks over time: a lane a block, whose labels are PlaceStates.
struct PlaceStrip {
  CurvePart part = CurvePart::kParameters;
  std::vector<std::int32_t> blocks;  ///< of each lane
  std::vector<EventLane> lanes;
};

/// Labels for painting a strip's lanes: of each PlaceState its own paint.
const std::array<TimelineLabel, kPlaceStates>& place_labels();

/// The strips of what moves between memories, as the trace timed it; data of which no block moves has none. A device copy
/// that was read and not changed counts as held until its last use before the next transfer; then the data is where it was
/// fetched from. The trace's ids must be of the body.
std::vector<PlaceStrip> place_strips(const Plan& plan, const FlatBody& body, const Trace& trace);

}  // namespace plimsoll::gui
