#pragma once

#include <vector>

#include "core/model/recipe.h"
#include "core/plan/strategy.h"
#include "core/platform/platform.h"

namespace plimsoll {

/// What bounds the choices of a strategy's fields.
struct MoveLimits {
  std::int64_t layers = 1;
  std::int64_t micro_batches = 1;
  bool has_ssd = false;
  bool frozen = false;  ///< the model: weights that the device does not update may be streamed to it
  bool delayed = false;  ///< the recipe delays updates
  bool visits = true;    ///< states may come to the device for their update where none did
  /// How many more blocks' states or weights a memory has room for under the strategy that is changed (below 0: too many).
  std::int64_t device_state_room = 0;
  std::int64_t device_parameter_room = 0;
  std::int64_t host_state_room = 0;
};

/// Every strategy that differs from `from` in one field (and in what that field brings with it: a tier that empties has
/// no blocks), in a fixed order, each named after its family. Counts go by one, by halves and doubles; shares of blocks
/// by powers of four, and by what the memory has room for and half of that, so that a few moves reach any share. What cannot
/// be is left out.
std::vector<Strategy> moves_from(const Strategy& from, const MoveLimits& limits);

/// Changes of several fields at once, none of which need be an improvement by itself: some outputs of recomputed blocks
/// are kept and leave the device. What leaves it lingers there, so states may have to make room.
std::vector<Strategy> jumps_from(const Strategy& from, const MoveLimits& limits);

}  // namespace plimsoll
