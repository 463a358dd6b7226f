#pragma once

#include <cmath>

#include "core/model/next_loss_scale.h"
#include "executor/cuda/kernels/matrix_units.h"

// A square of an fp32 is exact in double, so these sums depend on their order alone; twin_loops_variant.cpp adds in the same.
namespace plimsoll::cuda {

/// Elements of one block's sum at least, and the most blocks.
inline constexpr Index kSquaresOfBlock = Index{1} << 15;
inline constexpr Index kMostSquareBlocks = 1024;
inline constexpr int kSquareThreads = 256;

/// Elements of each block's sum but the last's.
constexpr Index squares_of_block(Index elements) {
  const Index even = parts_of(elements, kMostSquareBlocks);
  return even > kSquaresOfBlock ? even : kSquaresOfBlock;
}

/// Sums of squares of the blocks' ranges: a thread takes every kThreads-th element.
template <typename S>
struct SquareSums {
  static constexpr int kThreads = kSquareThreads;
  struct Args {
    Index elements;
    const S* values;
    double* sums;  ///< [block]
  };
  struct Shared {
    double values[kThreads];
  };

  static Index blocks(const Args& args) { return parts_of(args.elements, squares_of_block(args.elements)); }

  template <typename Block>
  PLIMSOLL_DEVICE static void run(const Block& block, Shared& shared, const Args& a) {
    const Index size = squares_of_block(a.elements), begin = block.index() * size;
    const Index end = begin + size < a.elements ? begin + size : a.elements;
    double sum = 0;
    for (Index i = begin + block.thread(); i < end; i += kThreads) {
      const double value = wide(a.values[i]);
      sum += value * value;
    }
    sum = reduce<kThreads>(block, shared.values, sum, Plus());
    if (block.thread() == 0) a.sums[block.index()] = sum;
  }
};

/// Adds up doubles in their order; by one thread, as there are few. It has many of them brought before it adds the first.
struct SumInOrder {
  static constexpr int kBrought = 32;
  const double* values;
  Index count;
  double* sum;
  PLIMSOLL_DEVICE void operator()(Index) const {
    double total = 0, brought[kBrought];
    Index i = 0;
    for (; i + kBrought <= count; i += kBrought) {
      PLIMSOLL_UNROLL for (int k = 0; k < kBrought; ++k) brought[k] = values[i + k];
      PLIMSOLL_UNROLL for (int k = 0; k < kBrought; ++k) total += brought[k];
    }
    for (; i < count; ++i) total += values[i];
    *sum = total;
  }
};

/// factor = clip / max(norm, clip); 1 without clipping. The flag, where there is one, says whether it is not 1.
struct ClipByNorm {
  const double* partial;
  Index terms;
  double clip;
  double* factor;  ///< and the norm behind it
  double* flag;    ///< or null
  PLIMSOLL_DEVICE void operator()(Index) const {
    double sum = 0;
    for (Index i = 0; i < terms; ++i) sum += partial[i];
    const double norm = sqrt(sum);
    factor[0] = clip > 0 ? clip / (clip > norm ? clip : norm) : 1;
    factor[1] = norm;
    if (flag != nullptr) *flag = factor[0] == 1 ? 0 : 1;
  }
};

/// The same where the loss is scaled: the factor unscales too. Gradients that are not finite make it NaN, and the scale follows,
/// by the rule of the CPU's kernel.
struct ClipScaled {
  const double* partial;
  Index terms;
  double clip;
  LossScaling scaling;
  bool flags_update;  ///< the flag says whether to update, else whether a guess of the factor was wrong
  double* result;     ///< kScaledFactorDoubles
  LossScale* scale;
  double* flag;  ///< or null
  PLIMSOLL_DEVICE void operator()(Index) const {
    double sum = 0;
    for (Index i = 0; i < terms; ++i) sum += partial[i];
    const bool finite = sum - sum == 0;
    const double guess = scale->factor, norm = sqrt(sum) * guess;
    const double share = clip > 0 ? clip / (clip > norm ? clip : norm) : 1;
    result[0] = finite ? share * guess : NAN;
    result[1] = norm;
    result[2] = scale->updates;
    result[3] = scale->scale;
    if (flag != nullptr) *flag = (flags_update ? finite : result[0] != guess) ? 1 : 0;
    *scale = loss_scale_after(scaling, *scale, finite);
  }
};

}  // namespace plimsoll::cuda
