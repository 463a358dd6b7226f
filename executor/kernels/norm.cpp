#include "core/graph/op_work.h"
#include "core/model/model_spec.h"
#include "executor/kernels/kernels.h"
#include "executor/kernels/storage.h"
#include "executor/kernels/weight_offset.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll::kernels {
namespace {

constexpr std::int64_t kRows = 16;      // of the forward tasks
constexpr std::int64_t kColumns = 256;  // of the tasks that sum the tiles' partial sums

bool is_layer_norm(const OpShape& shape) { return shape.variant == static_cast<std::uint8_t>(NormKind::kLayerNorm); }

}  // namespace

/// Statistics hold two numbers a row: mean (0 for RMSNorm) and reciprocal deviation.
template <typename S>
void norm(const OpShape& s, Operands operands, const LaunchContext& context) {
  using T = Arithmetic<S>;
  const bool layer = is_layer_norm(s);
  const S* x = array<S>(operands, 0);
  S* y = array<S>(operands, layer ? 3 : 2);
  T* statistics = array<T>(operands, layer ? 4 : 3);
  const T epsilon = static_cast<T>(s.constant), offset = weight_offset<T>(s);
  const Loops<T>& loop = loops<T>();
  context.pool->run(range_count(s.rows, kRows), [&](std::int64_t task, std::int64_t) {
    const Range rows = range_at(task, s.rows, kRows);
    const Rows<S> scratch(s.inputs, 4);
    const T* weight = widened(s.inputs, array<S>(operands, 1), scratch.at(0));
    const T* bias = layer ? widened(s.inputs, array<S>(operands, 2), scratch.at(1)) : nullptr;
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const std::int64_t at = row * s.inputs;
      const T* from = widened(s.inputs, x + at, scratch.at(2));
      T* to = opened(s.inputs, y + at, scratch.at(3));
      if (layer) {
        loop.layer_norm(s.inputs, from, weight, bias, epsilon, to, statistics + 2 * row);
      } else {
        loop.rms_norm(s.inputs, from, weight, offset, epsilon, to, statistics + 2 * row);
      }
      store(s.inputs, to, y + at);
    }
  });
}

namespace {

template <typename S>
struct NormBackward {
  using T = Arithmetic<S>;
  const OpShape& s;
  const S *dy, *x, *weight;
  const T* statistics;
  S* dx;
  S *d_weight, *d_bias;  // no bias, or frozen: null
  T* partial;            // [tile][weight, bias][column]
  bool adds;

  [[nodiscard]] std::int64_t sums() const { return d_bias == nullptr ? 1 : 2; }

  /// dx of one tile of rows, and the tile's share of the weight and bias gradients.
  void tile(std::int64_t index) const {
    const Range rows = range_at(index, s.rows, kReductionRows);
    T* sum = partial + index * sums() * s.inputs;
    std::fill(sum, sum + sums() * s.inputs, T(0));
    const Rows<S> scratch(s.inputs, 4);
    const T* wide_weight = widened(s.inputs, weight, scratch.at(0));
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const std::int64_t at = row * s.inputs;
      T* to = opened(s.inputs, dx + at, scratch.at(3), adds);
      loops<T>().norm_backward(s.inputs, {.dy = widened(s.inputs, dy + at, scratch.at(1)),
                                          .x = widened(s.inputs, x + at, scratch.at(2)),
                                          .weight = wide_weight,
                                          .offset = weight_offset<T>(s),
                                          .mean = statistics[2 * row],
                                          .inverse_deviation = statistics[2 * row + 1],
                                          .centred = is_layer_norm(s),
                                          .adds = adds,
                                          .dx = to,
                                          .weight_sum = sum,
                                          .bias_sum = d_bias == nullptr ? nullptr : sum + s.inputs});
      store(s.inputs, to, dx + at);
    }
  }

  /// Sums the tiles' shares of some columns in the order of the tiles.
  void sum_tiles(Range columns, std::int64_t which, S* stored) const {
    const T* share = partial + which * s.inputs + columns.begin;
    PieceScratch<S> scratch;
    T* out = opened(columns.size(), stored + columns.begin, scratch.values);
    std::copy(share, share + columns.size(), out);
    for (std::int64_t i = 1; i < range_count(s.rows, kReductionRows); ++i) {
      loops<T>().add_to(columns.size(), share + i * sums() * s.inputs, out);
    }
    store(columns.size(), out, stored + columns.begin);
  }
};

}  // namespace

template <typename S>
void norm_backward(const OpShape& s, Operands operands, const LaunchContext& context) {
  using T = Arithmetic<S>;
  const bool layer = is_layer_norm(s), trains = operands.size() > 6;
  const NormBackward<S> kernel{.s = s,
                               .dy = array<S>(operands, 0),
                               .x = array<S>(operands, 1),
                               .weight = array<S>(operands, 2),
                               .statistics = array<T>(operands, 3),
                               .dx = array<S>(operands, 4),
                               .d_weight = trains ? array<S>(operands, 5) : nullptr,
                               .d_bias = trains && layer ? array<S>(operands, 6) : nullptr,
                               .partial = array<T>(operands, operands.size() - 1),
                               .adds = operands[4].access == Access::kReadWrite};
  context.pool->run(range_count(s.rows, kReductionRows), [&](std::int64_t task, std::int64_t) { kernel.tile(task); });
  if (!trains) return;
  context.pool->run(range_count(s.inputs, kColumns), [&](std::int64_t task, std::int64_t) {
    const Range columns = range_at(task, s.inputs, kColumns);
    kernel.sum_tiles(columns, 0, kernel.d_weight);
    if (layer) kernel.sum_tiles(columns, 1, kernel.d_bias);
  });
}

PLIMSOLL_INSTANTIATE_HALF_KERNEL(norm);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(norm_backward);

}  // namespace plimsoll::kernels
