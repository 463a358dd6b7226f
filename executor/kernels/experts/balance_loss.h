#pragma once

#include <vector>

#include "core/model/experts.h"
#include "executor/kernels/experts/routing.h"

namespace plimsoll::kernels {

/// The auxiliary loss of one block, but for kTopK, whose loss is of all blocks together (0 here).
double block_balance_loss(const ExpertSpec& experts, const OpShape& shape, const RouterStatistics& of);

/// Derivative of the auxiliary losses by each probability (noisy: gate) of a group and expert, [group][expert], of one block.
/// `slopes`: what kTopK's loss of all blocks comes to, an expert each.
std::vector<double> balance_slopes(const ExpertSpec& experts, const OpShape& shape, const RouterStatistics& of,
                                   const double* slopes);

/// Derivative of the noisy gating's load loss by each expert's load.
std::vector<double> load_slopes(const ExpertSpec& experts, const OpShape& shape, const RouterStatistics& of);

}  // namespace plimsoll::kernels
