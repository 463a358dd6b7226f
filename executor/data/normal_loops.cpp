#include "executor/data/normal_loops.h"

namespace plimsoll {

// Defined by normal_loops_variant.cpp, once for each instruction set it is compiled for.
struct NormalLoopsV1 {
  static const NormalLoops kTable;
};
struct NormalLoopsV3 {
  static const NormalLoops kTable;
};
struct NormalLoopsV4 {
  static const NormalLoops kTable;
};

const NormalLoops& normal_loops([[maybe_unused]] InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::kV4) return NormalLoopsV4::kTable;
  if (set == InstructionSet::kV3) return NormalLoopsV3::kTable;
#endif
  return NormalLoopsV1::kTable;
}

}  // namespace plimsoll
