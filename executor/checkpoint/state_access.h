#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "core/graph/graph.h"

namespace plimsoll {

/// Shows one state (kParameter, kFirstMoment or kSecondMoment) of one group, in the recipe's state type; empty when an
/// executor has none. The bytes stay valid until the next call, or until the executor runs.
using ReadState = std::function<std::span<const std::byte>(TensorKind, GroupId)>;

/// Replaces one state of one group, wherever the executor keeps copies of it.
using WriteState = std::function<void(TensorKind, GroupId, std::span<const std::byte>)>;

}  // namespace plimsoll
