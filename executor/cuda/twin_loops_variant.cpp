// Compiled once for each instruction set, with PLIMSOLL_LOOPS naming the table that it defines, and without fused multiply-adds.
// As in loops_variant.cpp everything else has internal linkage and no library template is instantiated.
#include "executor/cuda/kernels/update_rules.h"
#include "executor/cuda/twin_loops.h"

namespace plimsoll {
namespace {

using Count = TwinLoops::Count;
using Step = TwinLoops::Step;

template <typename Rule>
void stateless(Count n, const Step& step, const float* gradient, const float* weights, float* new_weights) {
  const Step s = step;  // a copy: the loop's stores cannot alias it
#pragma omp simd
  for (Count i = 0; i < n; ++i) {
    cuda::UpdatedElement e{.gradient = gradient[i], .weight = weights[i], .states = {}};
    Rule::apply(s, e);
    new_weights[i] = e.weight;
  }
}

template <typename Rule>
void with_velocity(Count n, const Step& step, const float* gradient, const float* weights, const float* velocity,
                   float* new_weights, float* new_velocity) {
  const Step s = step;
#pragma omp simd
  for (Count i = 0; i < n; ++i) {
    cuda::UpdatedElement e{.gradient = gradient[i], .weight = weights[i], .states = {velocity[i]}};
    Rule::apply(s, e);
    new_weights[i] = e.weight;
    new_velocity[i] = e.states[0];
  }
}

template <typename Rule>
void with_moments(Count n, const Step& step, const float* gradient, const float* weights, const float* m, const float* v,
                  float* new_weights, float* new_m, float* new_v) {
  const Step s = step;
#pragma omp simd
  for (Count i = 0; i < n; ++i) {
    cuda::UpdatedElement e{.gradient = gradient[i], .weight = weights[i], .states = {m[i], v[i]}};
    Rule::apply(s, e);
    new_weights[i] = e.weight;
    new_m[i] = e.states[0];
    new_v[i] = e.states[1];
  }
}

void add_squares_of(Count n, const float* x, double* sums) {
#pragma omp simd
  for (Count i = 0; i < n; ++i) {
    const auto value = static_cast<double>(x[i]);
    sums[i] += value * value;
  }
}

void add_squares(Count n, const float* x, double* sums) {
  Count at = 0;
  for (; at + kTwinSums <= n; at += kTwinSums) add_squares_of(kTwinSums, x + at, sums);
  add_squares_of(n - at, x + at, sums);
}

}  // namespace

struct PLIMSOLL_LOOPS {
  static const TwinLoops kTable;
};
const TwinLoops PLIMSOLL_LOOPS::kTable{.sgd = stateless<cuda::SgdRule>,
                                       .momentum = with_velocity<cuda::MomentumRule>,
                                       .lion = with_velocity<cuda::LionRule>,
                                       .adam = with_moments<cuda::AdamRule>,
                                       .adamw = with_moments<cuda::AdamWRule>,
                                       .add_squares = add_squares};

}  // namespace plimsoll
