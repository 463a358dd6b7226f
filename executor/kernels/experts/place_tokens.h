#pragma once

#include "executor/kernels/experts/routing.h"

namespace plimsoll::kernels {

/// Gives each token a row at each of its experts that has room, and notes what the auxiliary losses need. First choices
/// come before second ones, tokens of a group in their order; a group's tokens take no room of another's.
template <typename T>
void place_tokens(const OpShape& shape, const T* scores, const T* gates, const Routing& routing,
                  const RouterStatistics& statistics, const LaunchContext& context);

}  // namespace plimsoll::kernels
