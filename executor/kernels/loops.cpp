#include "executor/kernels/loops.h"

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

enum class Variant { kV1, kV3, kV4 };

Variant best_variant() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return Variant::kV4;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
    return Variant::kV3;
#endif
  return Variant::kV1;
}

/// What `of` takes from the tables of the best variant.
template <typename Of>
const auto& best(const Of& of) {
#if defined(__x86_64__)
  static const Variant variant = best_variant();
  if (variant == Variant::kV4) return of(LoopsV4{});
  if (variant == Variant::kV3) return of(LoopsV3{});
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

const char* loops_variant() {
  switch (best_variant()) {
    case Variant::kV4:
      return "x86-64-v4";
    case Variant::kV3:
      return "x86-64-v3";
    case Variant::kV1:
      break;
  }
  return "baseline";
}

}  // namespace plimsoll
