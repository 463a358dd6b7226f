#pragma once

#include <cmath>

#include "executor/cuda/kernels/scalar.h"

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
  double* losses;       ///< [row]
  double* right;        ///< [row], or null
};

/// Each row of logits: its loss, and with `backward` (softmax − one-hot of the target) · share in its place, and 0 beyond its width. Both
/// are NaN where the target is none of the row's.
template <typename S>
struct LossRows {
  static constexpr int kThreads = 256;
  using Args = LossRowsArgs<S>;
  struct Shared {
    float values[kThreads];
    Index places[kThreads];
  };

  static Index blocks(const Args& args) { return args.rows; }

  template <typename Block>
  PLIMSOLL_DEVICE static void run(const Block& block, Shared& shared, const Args& a) {
    const Index row = block.index(), target = a.targets.of(row);
    S* x = a.logits + row * a.stride;
    for (Index i = a.width + block.thread(); a.backward && i < a.stride; i += kThreads) put(x[i], 0);
    if (target < 0) return ignore(block.thread(), a, row);
    float most = -INFINITY;
    Index best = a.width;
    for (Index i = block.thread(); i < a.width; i += kThreads) {
      const float value = wide(x[i]);
      if (value > most || best == a.width) best = i;
      most = value > most ? value : most;
    }
    const float own = most;
    most = reduce<kThreads>(block, shared.values, most, Larger());
    if (a.right != nullptr) {
      best = reduce<kThreads>(block, shared.places, own == most ? best : a.width, Smaller());
    }
    float sum = 0;
    for (Index i = block.thread(); i < a.width; i += kThreads) sum += std::exp(wide(x[i]) - most);
    sum = reduce<kThreads>(block, shared.values, sum, Plus());
    const float own_logit = target < a.width ? wide(x[target]) : NAN;
    const double of_target = static_cast<double>(own_logit) - static_cast<double>(most);
    block.sync();  // all have read the target's logit
    if (block.thread() == 0) {
      a.losses[row] = log(static_cast<double>(sum)) - of_target;
      if (a.right != nullptr) a.right[row] = best == target ? 1 : 0;
    }
    if (!a.backward) return;
    const float scale = a.scale != nullptr ? static_cast<float>(*a.scale) : 1.0F;
    const float share = target < a.width ? scale / static_cast<float>(a.targets.gradient_terms()) : NAN;
    for (Index i = block.thread(); i < a.width; i += kThreads) {
      put(x[i], std::exp(wide(x[i]) - most) * (share / sum) - (i == target ? share : 0));
    }
  }

 private:
  struct Smaller {
    PLIMSOLL_DEVICE Index operator()(Index a, Index b) const { return b < a ? b : a; }
  };

  PLIMSOLL_DEVICE static void ignore(int thread, const Args& a, Index row) {
    for (Index i = thread; a.backward && i < a.width; i += kThreads) put(a.logits[row * a.stride + i], 0);
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
