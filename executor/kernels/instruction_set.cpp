#include "executor/kernels/instruction_set.h"

namespace plimsoll {
namespace {

InstructionSet detect() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return InstructionSet::kV4;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
    return InstructionSet::kV3;
#endif
  return InstructionSet::kBaseline;
}

}  // namespace

InstructionSet best_instruction_set() {
  static const InstructionSet best = detect();
  return best;
}

std::vector<InstructionSet> instruction_sets() {
  std::vector<InstructionSet> sets;
  for (const InstructionSet set : {InstructionSet::kBaseline, InstructionSet::kV3, InstructionSet::kV4}) {
    if (set <= best_instruction_set()) sets.push_back(set);
  }
  return sets;
}

const char* to_text(InstructionSet set) {
  switch (set) {
    case InstructionSet::kV4: return "x86-64-v4";
    case InstructionSet::kV3: return "x86-64-v3";
    case InstructionSet::kBaseline: break;
  }
  return "baseline";
}

}  // namespace plimsoll
