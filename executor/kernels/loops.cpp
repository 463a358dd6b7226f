#include "executor/kernels/loops.h"

namespace plimsoll {

// Defined by loops_variant.cpp, once for each instruction set it is compiled for.
struct LoopsV1 {
  static const Loops<float> kFloat;
  static const Loops<double> kDouble;
};
struct LoopsV3 {
  static const Loops<float> kFloat;
  static const Loops<double> kDouble;
};
struct LoopsV4 {
  static const Loops<float> kFloat;
  static const Loops<double> kDouble;
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

}  // namespace

template <>
const Loops<float>& loops<float>() {
#if defined(__x86_64__)
  static const Variant best = best_variant();
  if (best == Variant::kV4) return LoopsV4::kFloat;
  if (best == Variant::kV3) return LoopsV3::kFloat;
#endif
  return LoopsV1::kFloat;
}

template <>
const Loops<double>& loops<double>() {
#if defined(__x86_64__)
  static const Variant best = best_variant();
  if (best == Variant::kV4) return LoopsV4::kDouble;
  if (best == Variant::kV3) return LoopsV3::kDouble;
#endif
  return LoopsV1::kDouble;
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
