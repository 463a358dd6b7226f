#pragma once

#include <vector>

namespace plimsoll {

/// What inner loops are compiled for, each including those before it.
enum class InstructionSet { kBaseline, kV3, kV4 };

/// The best that this processor has: x86-64 (baseline), v3 (AVX2) or v4 (AVX-512).
InstructionSet best_instruction_set();

/// All that this processor has.
std::vector<InstructionSet> instruction_sets();

/// "x86-64-v4" and the like.
const char* to_text(InstructionSet set);

}  // namespace plimsoll
