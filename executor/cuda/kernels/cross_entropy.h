#pragma once

#include <cmath>

#include "executor/cuda/kernels/pack.h"

namespace plimsoll::cuda {

/// What rows of logits are compared with, and how their losses are weighted.
struct LossTargets {
  Index sequence;
  const std::int32_t* values;  ///< tokens [sequences, sequence + 1], or labels
  bool labels;
  const std::int64_t* counted;  ///< of labels: how many rows count, at least one
  double divisor;               ///< of the sum of losses, unless labels are counted
  double terms;                 ///< of the gradients, or by what the counted rows are multiplied

  /// Negative: the row does not count.
  PLIMSOLL_DEVICE Index of(Index row) const {
    return labels ? values[row] : values[row / sequence * (sequence + 1) + row % sequence + 1];
  }
  PLIMSOLL_DEVICE double loss_divisor() const { return labels ? static_cast<double>(*counted) : divisor; }
  PLIMSOLL_DEVICE double gradient_terms() const { return labels ? static_cast<double>(*counted) * terms : terms; }
};

/// How many labels are not negative, at least one.
struct CountLabels {
  static constexpr int kThreads = 256;
  struct Args {
    Index rows;
    const std::int32_t* labels;
    std::int64_t* counted;
  };
  struct Shared {
    std::int64_t values[kThreads];
  };

  static Index blocks(const Args&) { return 1; }

  template <typename Block>
  PLIMSOLL_DEVICE static void run(const Block& block, Shared& shared, const Args& a) {
    std::int64_t counted = 0;
    for (Index row = block.thread(); row < a.rows; row += kThreads) counted += a.labels[row] >= 0 ? 1 : 0;
    counted = reduce<kThreads>(block, shared.values, counted, Plus());
    if (block.thread() == 0) *a.counted = counted > 0 ? counted : 1;
  }
};

template <typename S>
struct LossRowsArgs {
  Index rows, width;
  Index stride;  ///< from row to row, of which only `width` are compared
  S* logits;
  LossTargets targets;
  const double* scale;  ///< of the loss, or null
  bool backward;        ///< leaves gradients in place of the logits
  bool packed;          ///< rows of `stride` elements
  double* losses;       ///< [row]
  double* right;        ///< [row], or null
};

/// What a thread has seen of a row: the largest logit, and the sum of the exponentials of all less that.
struct RunningSum {
  float most = -INFINITY, sum = 0;

  template <typename Block>
  PLIMSOLL_DEVICE void take(const Block& block, const float (&values)[kPack]) {
    float next = most;
    for (int k = 0; k < kPack; ++k) next = values[k] > next ? values[k] : next;
    if (next == -INFINITY) {  // nothing was seen yet but what does not count, or is no number
      for (int k = 0; k < kPack; ++k) sum = values[k] == values[k] ? sum : values[k];
      return;
    }
    sum *= block.exp2((most - next) * kLog2E);
    most = next;
    for (int k = 0; k < kPack; ++k) sum += block.exp2((values[k] - most) * kLog2E);
  }
};

/// Each row of logits: its loss, and with `backward` (softmax − one-hot of the target) · share in its place, and 0 beyond its width. Both
/// are NaN where the target is none of the row's.
template <typename S>
struct LossRows {
  static constexpr int kThreads = 256;
  static constexpr Index kStep = Index{kThreads} * kPack;
  using Args = LossRowsArgs<S>;
  struct Shared {
    float values[kThreads];
    Index places[kThreads];
  };

  static Index blocks(const Args& args) { return args.rows; }

  template <typename Block>
  PLIMSOLL_DEVICE static void run(const Block& block, Shared& shared, const Args& a) {
    const Index row = block.index(), target = a.targets.of(row);
    if (target < 0) return ignore(block.thread(), a, row);
    const S* x = a.logits + row * a.stride;
    RunningSum own;
    float values[kPack];
    for (Index i = block.thread() * kPack; i < a.stride; i += kStep) {
      load(block, a, row, i, values);
      own.take(block, values);
    }
    const float most = reduce<kThreads>(block, shared.values, own.most, Larger());
    const float share_of_sum = own.most == -INFINITY ? own.sum : own.sum * block.exp2((own.most - most) * kLog2E);
    const float sum = reduce<kThreads>(block, shared.values, share_of_sum, Plus());
    const Index best = a.right == nullptr ? -1 : best_of(block, shared, a, x, most);
    const float own_logit = target < a.width ? wide(x[target]) : NAN;
    const double of_target = static_cast<double>(own_logit) - static_cast<double>(most);
    block.sync();  // all have read the target's logit
    if (block.thread() == 0) {
      a.losses[row] = log(static_cast<double>(sum)) - of_target;
      if (a.right != nullptr) a.right[row] = best == target ? 1 : 0;
    }
    if (a.backward) leave_gradients(block, a, row, target, most, sum);
  }

 private:
  struct Smaller {
    PLIMSOLL_DEVICE Index operator()(Index a, Index b) const { return b < a ? b : a; }
  };

  /// What is beyond the row's width weighs nothing.
  template <typename Block>
  PLIMSOLL_DEVICE static void load(const Block& block, const Args& a, Index row, Index i, float (&values)[kPack]) {
    load_pack(block, values, a.logits + row * a.stride, i, a.stride, a.packed);
    for (int k = 0; k < kPack; ++k) values[k] = i + k < a.width ? values[k] : -INFINITY;
  }

  /// The first of the largest logits.
  template <typename Block>
  PLIMSOLL_DEVICE static Index best_of(const Block& block, Shared& shared, const Args& a, const S* x, float most) {
    Index best = a.width;
    for (Index i = block.thread(); i < a.width && best == a.width; i += kThreads) best = wide(x[i]) == most ? i : best;
    return reduce<kThreads>(block, shared.places, best, Smaller());
  }

  template <typename Block>
  PLIMSOLL_DEVICE static void leave_gradients(const Block& block, const Args& a, Index row, Index target, float most, float sum) {
    const float scale = a.scale != nullptr ? static_cast<float>(*a.scale) : 1.0F;
    const float share = target < a.width ? scale / static_cast<float>(a.targets.gradient_terms()) : NAN;
    float values[kPack];
    for (Index i = block.thread() * kPack; i < a.stride; i += kStep) {
      load(block, a, row, i, values);
      for (int k = 0; k < kPack; ++k) {
        const float gradient = block.exp2((values[k] - most) * kLog2E) * (share / sum) - (i + k == target ? share : 0);
        values[k] = i + k < a.width ? gradient : 0;
      }
      store_pack(block, a.logits + row * a.stride, values, i, a.stride, a.packed);
    }
  }

  PLIMSOLL_DEVICE static void ignore(int thread, const Args& a, Index row) {
    for (Index i = thread; a.backward && i < a.stride; i += kThreads) put(a.logits[row * a.stride + i], 0);
    if (thread > 0) return;
    a.losses[row] = 0;
    if (a.right != nullptr) a.right[row] = 0;
  }
};

/// The mean of rows' losses, summed in a fixed order.
struct MeanOfRows {
  static constexpr int kThreads = 256;
  struct Args {
    Index rows;
    const double* values;
    LossTargets targets;
    double* mean;
    bool adds;  ///< to what stands there: a further part of a micro-batch
  };
  struct Shared {
    double values[kThreads];
  };

  static Index blocks(const Args&) { return 1; }

  template <typename Block>
  PLIMSOLL_DEVICE static void run(const Block& block, Shared& shared, const Args& a) {
    double sum = 0;
    for (Index row = block.thread(); row < a.rows; row += kThreads) sum += a.values[row];
    sum = reduce<kThreads>(block, shared.values, sum, Plus());
    if (block.thread() == 0) *a.mean = (a.adds ? *a.mean : 0) + sum / a.targets.loss_divisor();
  }
};

}  // namespace plimsoll::cuda
