#pragma once

#include <cstdint>

#include "executor/kernels/instruction_set.h"

namespace plimsoll {

/// Many normal numbers at once, with the bits of normal_at whatever they are compiled for.
struct NormalLoops {
  void (*draw)(std::uint64_t key, std::uint64_t first, std::int64_t n, double* out);  ///< those of places first … first + n − 1
};

const NormalLoops& normal_loops(InstructionSet set = best_instruction_set());

}  // namespace plimsoll
