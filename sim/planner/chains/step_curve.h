#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/quantity.h"

namespace plimsoll {

/// From `bytes` on, `seconds` is enough, by the choice of that number.
struct CurveStep {
  Bytes bytes;
  double seconds = 0;
  std::uint32_t choice = 0;
};

/// Time as a function of memory: steps of more and more bytes and fewer and fewer seconds; with less than the first
/// one's bytes there is no way at all.
using StepCurve = std::vector<CurveStep>;

/// The last step that `bytes` are enough for.
const CurveStep* step_at(std::span<const CurveStep> curve, Bytes bytes);

/// `curve` becomes the lower one of the two at every amount of bytes; `scratch` is any vector to work in.
void lower_by(StepCurve& curve, std::span<const CurveStep> other, StepCurve& scratch);

/// Which way a curve is thinned.
enum class Thinning : std::uint8_t {
  kAbove,  ///< no step becomes faster: still a promise
  kBelow,  ///< no step becomes slower: still a bound
};

/// Leaves at most about `most` steps, in equal ratios of time, the first one's bytes and the last one's seconds among
/// them. True when steps went.
bool thin(StepCurve& curve, std::size_t most, Thinning way);

}  // namespace plimsoll
