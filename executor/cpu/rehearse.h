#pragma once

#include <span>

#include "executor/cpu/program.h"
#include "executor/kernels/launch.h"

namespace plimsoll {

/// Launches every distinct kernel of the programs once, so that libraries load their code and allocate what they
/// allocate before the first step. Operands are zeroed first (zero is a valid token), which destroys what the arenas
/// hold.
void rehearse(const Plan& plan, std::span<const Program* const> programs, WorkerPool& pool,
              const MatrixProduct& product);

}  // namespace plimsoll
