// Compiled once for each instruction set, with PLIMSOLL_LOOPS naming the table that it defines, and without fused multiply-adds.
// As in loops_variant.cpp everything else has internal linkage and no library template is instantiated.
#include "executor/data/normal_formula.h"
#include "executor/data/normal_loops.h"

namespace plimsoll {
namespace {

void draw(std::uint64_t key, std::uint64_t first, std::int64_t n, double* out) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) out[i] = number_at(key, first + static_cast<std::uint64_t>(i));
}

}  // namespace

struct PLIMSOLL_LOOPS {
  static const NormalLoops kTable;
};
const NormalLoops PLIMSOLL_LOOPS::kTable{.draw = draw};

}  // namespace plimsoll
