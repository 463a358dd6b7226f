#pragma once

#include <cstdint>
#include <span>

#include "core/model/parameters.h"
#include "core/plan/plan.h"
#include "executor/kernels/launch.h"

namespace plimsoll {

/// Writes the initial weights of one group: normal(0, 0.02) (Radford et al. 2019), the two projections into the
/// residual stream scaled by 1/√(2·layers) unless norms follow its sums, norm factors 1, biases 0; an adapter's A uniform in ±1/√inputs, its B 0; a mixture
/// of experts as its gating's paper has it. Every element depends only on (seed, group, place), so that neither order nor threads nor precision changes more than rounding.
/// `out` holds the group in `dtype`.
void fill_weights(const ModelSpec& spec, const Recipe& recipe, GroupId group, DType dtype, std::span<std::byte> out,
                  WorkerPool& pool);

}  // namespace plimsoll
