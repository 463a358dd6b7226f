#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "core/graph/graph.h"

namespace plimsoll {

/// Shows one state (kParameter, or one that the optimizer keeps: core/graph/optimizer_state.h) of one group, weights in the
/// recipe's state type, or the run's LossScale (kScalar of the first group); empty when an executor has none. The bytes stay valid
/// until the next call, or until the executor runs.
using ReadState = std::function<std::span<const std::byte>(TensorKind, GroupId)>;

/// Writes the bytes of one state of one group into `place`, in the recipe's state type.
using FillState = std::function<void(std::span<std::byte> place)>;

/// Replaces one state of one group: `fill` is called once, and what it wrote goes wherever the executor keeps copies.
using WriteState = std::function<void(TensorKind, GroupId, const FillState& fill)>;

}  // namespace plimsoll
