#pragma once

#include <cstdint>
#include <functional>

#include "sim/stack/tape/tape.h"

namespace plimsoll {

/// `run` on so many parts of the tokens, one after another, without keeping anything but x; backward runs each part
/// again and writes its gradient into its place of one gradient of x (Arctic long-sequence training, 2506.13996).
Tensor tiled(Tape& tape, const Tensor& x, std::int64_t tiles, const std::function<Tensor(const Tensor&)>& run);

}  // namespace plimsoll
