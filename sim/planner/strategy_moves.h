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
};

/// Every strategy that differs from `from` in one field (and in what that field brings with it: a tier that empties has
/// no blocks), in a fixed order, each named after its family. Counts go by one, by halves and doubles; shares of blocks
/// by every power of two, so that a few moves reach any share. What cannot be is left out.
std::vector<Strategy> moves_from(const Strategy& from, const MoveLimits& limits);

}  // namespace plimsoll
