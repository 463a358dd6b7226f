#include "executor/cuda/twin_loops.h"

namespace plimsoll {

// Defined by twin_loops_variant.cpp, once for each instruction set it is compiled for.
struct TwinLoopsV1 {
  static const TwinLoops kTable;
};
struct TwinLoopsV3 {
  static const TwinLoops kTable;
};
struct TwinLoopsV4 {
  static const TwinLoops kTable;
};

const TwinLoops& twin_loops([[maybe_unused]] InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::kV4) return TwinLoopsV4::kTable;
  if (set == InstructionSet::kV3) return TwinLoopsV3::kTable;
#endif
  return TwinLoopsV1::kTable;
}

}  // namespace plimsoll
