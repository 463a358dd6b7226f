#pragma once

#include <span>

#include "executor/cpu/program.h"
#include "executor/kernels/launch.h"

namespace plimsoll {

/// What kernels are rehearsed with.
struct Rehearsal {
  WorkerPool* pool = nullptr;
  const MatrixProduct* product = nullptr;
  bool keep_state = false;  ///< what the plan keeps from step to step is neither zeroed nor written; its writers are left out
};

/// Launches every distinct kernel of the programs once, so that libraries load their code and allocate what they
/// allocate before the first step. Operands are zeroed first (zero is a valid token), which destroys what the arenas
/// hold.
void rehearse(const Plan& plan, std::span<const Program* const> programs, const Rehearsal& rehearsal);

}  // namespace plimsoll
