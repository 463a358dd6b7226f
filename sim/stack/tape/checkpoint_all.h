#pragma once

#include <functional>

#include "sim/stack/tape/tape.h"

namespace plimsoll {

/// Several streams through one checkpoint: runs `segment` without saving anything but its inputs, and once more when their
/// gradients are asked for.
Tensors checkpoint_all(Tape& tape, const Tensors& inputs, const std::function<Tensors(const Tensors&)>& segment);

}  // namespace plimsoll
