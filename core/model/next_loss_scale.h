#pragma once

#include <limits>

#include "core/model/loss_scaling.h"

namespace plimsoll {

/// After a step whose gradients were finite, or not: of one text for the host and for a device's kernels.
constexpr LossScale loss_scale_after(const LossScaling& scaling, LossScale now, bool finite) {
  constexpr double kGrowth = 2.0, kBackoff = 0.5;
  now.updates += finite ? 1 : 0;
  if (scaling.interval == 0) return now;
  now.good_steps = finite ? now.good_steps + 1 : 0;
  if (!finite) now.scale *= kBackoff;
  if (now.good_steps == static_cast<double>(scaling.interval)) {
    const double grown = now.scale * kGrowth;
    if (grown <= static_cast<double>(std::numeric_limits<float>::max())) now.scale = grown;
    now.good_steps = 0;
  }
  now.factor = 1 / now.scale;
  return now;
}

}  // namespace plimsoll
