#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace plimsoll {

/// By what the loss of an fp16 step is multiplied, so that small gradients do not vanish. A gradient that is not finite skips
/// the update; the scale then halves, and doubles after `interval` good steps in a row, as PyTorch's GradScaler has it.
struct LossScaling {
  double start = 65536;          ///< of the first step
  std::int64_t interval = 2000;  ///< 0: the scale stays

  bool operator==(const LossScaling&) const = default;
};

/// What a run knows of its loss scale after so many steps. Plans keep it in a buffer of doubles, in this order; the first four
/// are also what a clip factor's kernel writes where the loss is scaled.
struct LossScale {
  double factor = 0;      ///< of gradients: 1 / scale, or less where they are clipped; not a number: no update
  double norm = 0;        ///< of the last step's gradients, unscaled
  double updates = 0;     ///< made so far: steps that were not skipped
  double scale = 0;       ///< of the next step's loss
  double good_steps = 0;  ///< in a row, since the scale last changed

  bool operator==(const LossScale&) const = default;
};

/// Doubles of a LossScale, and of those that updates read.
inline constexpr std::int64_t kLossScaleDoubles = 5;
inline constexpr std::int64_t kScaledFactorDoubles = 4;

/// Before the first step.
LossScale first_loss_scale(const LossScaling& scaling);
/// After a step whose gradients were finite, or not.
LossScale next_loss_scale(const LossScaling& scaling, LossScale now, bool finite);

/// "dynamic", "dynamic:4096", "dynamic:4096:500" (scale and interval), or a number that stays.
std::string to_text(const LossScaling& scaling);
Result<LossScaling> parse_loss_scaling(std::string_view text);

}  // namespace plimsoll
