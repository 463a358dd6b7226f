#pragma once

#include <cstdint>

#include "sim/stack/tape/tape.h"

namespace plimsoll {

/// Whether kernels wait for a collective, or run beside it.
enum class Waits : bool { kNo, kYes };

/// A collective among ranks that share layers, which begins or ends with `whole` on each: a share (ranks − 1) ÷ ranks of it travels in
/// every round; an all-reduce goes round twice.
void among_tensor_ranks(Tape& tape, const Tensor& whole, std::int64_t ranks, int rounds, Waits waits);

}  // namespace plimsoll
