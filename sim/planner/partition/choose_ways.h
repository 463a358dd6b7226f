#pragma once

#include <optional>
#include <vector>

#include "core/base/quantity.h"

namespace plimsoll {

/// One way of one layer in a stage that is fixed otherwise.
struct WayCost {
  double seconds = 0;
  Bytes bytes;
};

/// A way for each layer, and the least seconds that any choice could have.
struct WayChoice {
  double seconds = 0;
  double least_seconds = 0;  ///< with parts of ways allowed: no choice within the bytes is faster
  std::vector<std::uint32_t> ways;
};

/// For each layer one of its ways so that all are within `room`: the fastest ones, then changes with the least time a byte
/// saved until they fit. None when the smallest ways do not.
std::optional<WayChoice> choose_ways(const std::vector<std::vector<WayCost>>& layers, Bytes room);

/// The same, the fastest choice there is: changes are tried one by one, and given up where no rest could be faster.
std::optional<WayChoice> best_ways(const std::vector<std::vector<WayCost>>& layers, Bytes room);

}  // namespace plimsoll
