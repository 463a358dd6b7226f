// Compiled once for each instruction set, with PLIMSOLL_LOOPS naming the table that it defines, and without fused multiply-adds.
// As in loops_variant.cpp everything else has internal linkage and no library template is instantiated.
#include "executor/cuda/kernels/update_rules.h"
#include "executor/cuda/twin_loops.h"
#include "executor/kernels/half_conversions.h"

namespace plimsoll {
namespace {

using Count = std::int64_t;
using Step = UpdateStep<float>;

inline float widened(float x) { return x; }
inline void round_to(float value, float& out) { out = value; }

template <typename Rule, bool kPublishes, typename G, typename W, typename S>
void update_all(Count n, const Step& step, const UpdatedElements<G, W, S>& elements) {
  const Step s = step;  // copies: the loop's stores cannot alias them
  const UpdatedElements<G, W, S> at = elements;
#pragma omp simd
  for (Count i = 0; i < n; ++i) {
    cuda::UpdatedElement e{.gradient = widened(at.gradient[i]), .weight = widened(at.weights[i]), .states = {}};
    if constexpr (Rule::kStates > 0) e.states[0] = widened(at.states[0][i]);
    if constexpr (Rule::kStates > 1) e.states[1] = widened(at.states[1][i]);
    Rule::apply(s, e);
    round_to(e.weight, at.new_weights[i]);
    if constexpr (Rule::kStates > 0) round_to(e.states[0], at.new_states[0][i]);
    if constexpr (Rule::kStates > 1) round_to(e.states[1], at.new_states[1][i]);
    if constexpr (kPublishes) round_to(e.weight, at.published[i]);
  }
}

template <typename Rule, typename G, typename W, typename S>
void update(Count n, const Step& step, const UpdatedElements<G, W, S>& elements) {
  elements.published == nullptr ? update_all<Rule, false>(n, step, elements) : update_all<Rule, true>(n, step, elements);
}

template <typename G, typename W, typename S>
constexpr TwinUpdates<G, W, S> kUpdates{.sgd = update<cuda::SgdRule, G, W, S>,
                                        .momentum = update<cuda::MomentumRule, G, W, S>,
                                        .lion = update<cuda::LionRule, G, W, S>,
                                        .adam = update<cuda::AdamRule, G, W, S>,
                                        .adamw = update<cuda::AdamWRule, G, W, S>};

/// sum + value². The square of an fp32 is exact in double, so that one rounding or two give the same bits.
inline double plus_square(double sum, double value) {
#if defined(__FMA__)
  return __builtin_fma(value, value, sum);
#else
  return sum + value * value;
#endif
}

/// kRows elements to each of the first `n` sums, kTwinSums apart: a sum is read and written once for all of them.
template <Count kRows, typename S>
void add_rows(Count n, const S* x, double* sums) {
#pragma omp simd
  for (Count i = 0; i < n; ++i) {
    double sum = sums[i];
    for (Count row = 0; row < kRows; ++row) sum = plus_square(sum, static_cast<double>(widened(x[row * kTwinSums + i])));
    sums[i] = sum;
  }
}

constexpr Count kRows = 4, kTogether = kRows * kTwinSums;

/// Asks for the elements that are added four rounds later: rows side by side are no stream that a processor foresees. What lies
/// behind the last of them may be anything, since nobody reads it: another worker's elements, mostly.
template <typename S>
void bring_ahead(const S* x) {
  constexpr std::uintptr_t kLine = 64, kBytes = kTogether * sizeof(S);
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(x) + 4 * kBytes;
  for (std::uintptr_t at = begin; at < begin + kBytes; at += kLine) __builtin_prefetch(reinterpret_cast<const void*>(at));
}

template <typename S>
void add_squares(Count n, const S* x, double* sums) {
  Count at = 0;
  for (; at + kTogether <= n; at += kTogether) {
    bring_ahead(x + at);
    add_rows<kRows>(kTwinSums, x + at, sums);
  }
  for (; at + kTwinSums <= n; at += kTwinSums) add_rows<1>(kTwinSums, x + at, sums);
  add_rows<1>(n - at, x + at, sums);
}

template <typename S>
constexpr StoredTwinLoops<S> kStored{kUpdates<S, float, S>, kUpdates<float, float, S>, kUpdates<S, S, S>, kUpdates<float, S, S>, {add_squares<S>}};
template <>
constexpr StoredTwinLoops<float> kStored<float>{kUpdates<float, float, float>, {add_squares<float>}};

}  // namespace

struct PLIMSOLL_LOOPS {
  static const TwinLoops kTable;
};
const TwinLoops PLIMSOLL_LOOPS::kTable{kStored<float>, kStored<Bf16>, kStored<Fp16>};

}  // namespace plimsoll
