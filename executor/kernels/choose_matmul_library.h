#pragma once

#include <cstdint>

#include "core/model/recipe.h"

namespace plimsoll {

/// OpenBLAS is taken where it is so many times as fast. Measured rates differ by a few percent from trial to trial: a near tie that either could
/// win would give two runs of one machine other bits.
inline constexpr double kClearlyFaster = 1.1;

/// The library for this machine, and what was measured: 10⁹ floating-point operations a second on one core.
struct MatmulChoice {
  MatmulLibrary library = MatmulLibrary::kOneDnn;
  double onednn_gflops = 0;
  double openblas_gflops = 0;
};

/// Measures both libraries on operands of `dtype` (fp32, bf16 or fp16) for about `milliseconds` in all on products as a
/// small transformer has them, on one thread of a child process, with which the buffers and the code go that they never
/// give back. Where the address space has no room for OpenBLAS it is not measured (0). Where there can be no child, and
/// only then, it is done here. Call it before other threads use the libraries. The rates belong to this moment and this
/// machine; the choice belongs into the recipe.
MatmulChoice choose_matmul_library(std::int64_t milliseconds, DType dtype = DType::kFp32);

}  // namespace plimsoll
