#include "executor/kernels/loops.h"

#include "executor/kernels/instruction_set.h"

namespace plimsoll {

// Defined by loops_variant.cpp, once for each instruction set it is compiled for.
struct LoopsV1 {
  static const Loops<float> kFloat;
  static const Loops<double> kDouble;
  static const Conversions<Bf16> kBf16;
  static const Conversions<Fp16> kFp16;
};
struct LoopsV3 {
  static const Loops<float> kFloat;
  static const Loops<double> kDouble;
  static const Conversions<Bf16> kBf16;
  static const Conversions<Fp16> kFp16;
};
struct LoopsV4 {
  static const Loops<float> kFloat;
  static const Loops<double> kDouble;
  static const Conversions<Bf16> kBf16;
  static const Conversions<Fp16> kFp16;
};

namespace {

/// What `of` takes from the tables of the best variant.
template <typename Of>
const auto& best(const Of& of) {
#if defined(__x86_64__)
  const InstructionSet set = best_instruction_set();
  if (set == InstructionSet::kV4) return of(LoopsV4{});
  if (set == InstructionSet::kV3) return of(LoopsV3{});
#endif
  return of(LoopsV1{});
}

}  // namespace

template <>
const Loops<float>& loops<float>() {
  return best([](auto tables) -> const Loops<float>& { return tables.kFloat; });
}

template <>
const Loops<double>& loops<double>() {
  return best([](auto tables) -> const Loops<double>& { return tables.kDouble; });
}

template <>
const Conversions<Bf16>& conversions<Bf16>() {
  return best([](auto tables) -> const Conversions<Bf16>& { return tables.kBf16; });
}

template <>
const Conversions<Fp16>& conversions<Fp16>() {
  return best([](auto tables) -> const Conversions<Fp16>& { return tables.kFp16; });
}

const char* loops_variant() { return to_text(best_instruction_set()); }

}  // namespace plimsoll
