#pragma once

#include "sim/stack/tape/tape.h"

namespace plimsoll {

// What devices send each other that have cut a tensor along one of its dimensions (FastFold's dynamic axial parallelism). Kernels
// wait for it. With one rank x itself comes back.

/// All ranks' parts of a dimension, side by side; backward each rank gets the sum of its part's gradient.
Tensor gather_ranks(Tape& tape, const Tensor& x, std::size_t dimension, std::int64_t ranks);

/// x, cut along `whole`, is cut along `cut` instead: every rank keeps a part of its own, and backward the other way round.
Tensor exchange_ranks(Tape& tape, const Tensor& x, std::size_t whole, std::size_t cut, std::int64_t ranks);

}  // namespace plimsoll
