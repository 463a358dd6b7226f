#include "core/graph/op_work.h"
#include "core/model/model_spec.h"
#include "executor/kernels/kernels.h"
#include "executor/kernels/loops.h"
#include "executor/kernels/weight_offset.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll::kernels {
namespace {

constexpr std::int64_t kRows = 16;      // of the forward tasks
constexpr std::int64_t kColumns = 256;  // of the tasks that sum the tiles' partial sums

bool is_layer_norm(const OpShape& shape) { return shape.variant == static_cast<std::uint8_t>(NormKind::kLayerNorm); }

}  // namespace

/// Statistics hold two numbers a row: mean (0 for RMSNorm) and reciprocal deviation.
template <typename T>
void norm(const OpShape& s, Operands operands, const LaunchContext& context) {
  const bool layer = is_layer_norm(s);
  const T* x = array<T>(operands, 0);
  const T* weight = array<T>(operands, 1);
  const T* bias = layer ? array<T>(operands, 2) : nullptr;
  T* y = array<T>(operands, layer ? 3 : 2);
  T* statistics = array<T>(operands, layer ? 4 : 3);
  const T epsilon = static_cast<T>(s.constant), offset = weight_offset<T>(s);
  const Loops<T>& loop = loops<T>();
  context.pool->run(range_count(s.rows, kRows), [&](std::int64_t task, std::int64_t) {
    const Range rows = range_at(task, s.rows, kRows);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const std::int64_t at = row * s.inputs;
      if (layer) {
        loop.layer_norm(s.inputs, x + at, weight, bias, epsilon, y + at, statistics + 2 * row);
      } else {
        loop.rms_norm(s.inputs, x + at, weight, offset, epsilon, y + at, statistics + 2 * row);
      }
    }
  });
}

namespace {

template <typename T>
struct NormBackward {
  const OpShape& s;
  const T *dy, *x, *weight, *statistics;
  T* dx;
  T *d_weight, *d_bias;  // no bias: null
  T* partial;            // [tile][weight, bias][column]
  bool adds;

  [[nodiscard]] std::int64_t sums() const { return d_bias == nullptr ? 1 : 2; }

  /// dx of one tile of rows, and the tile's share of the weight and bias gradients.
  void tile(std::int64_t index) const {
    const Range rows = range_at(index, s.rows, kReductionRows);
    T* sum = partial + index * sums() * s.inputs;
    std::fill(sum, sum + sums() * s.inputs, T(0));
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const std::int64_t at = row * s.inputs;
      loops<T>().norm_backward(s.inputs, {.dy = dy + at,
                                          .x = x + at,
                                          .weight = weight,
                                          .offset = weight_offset<T>(s),
                                          .mean = statistics[2 * row],
                                          .inverse_deviation = statistics[2 * row + 1],
                                          .centred = is_layer_norm(s),
                                          .adds = adds,
                                          .dx = dx + at,
                                          .weight_sum = sum,
                                          .bias_sum = d_bias == nullptr ? nullptr : sum + s.inputs});
    }
  }

  /// Sums the tiles' shares of some columns in the order of the tiles.
  void sum_tiles(Range columns, std::int64_t which, T* out) const {
    const T* share = partial + which * s.inputs + columns.begin;
    std::copy(share, share + columns.size(), out + columns.begin);
    for (std::int64_t i = 1; i < range_count(s.rows, kReductionRows); ++i) {
      loops<T>().add_to(columns.size(), share + i * sums() * s.inputs, out + columns.begin);
    }
  }
};

}  // namespace

template <typename T>
void norm_backward(const OpShape& s, Operands operands, const LaunchContext& context) {
  const bool layer = is_layer_norm(s);
  const NormBackward<T> kernel{.s = s,
                               .dy = array<T>(operands, 0),
                               .x = array<T>(operands, 1),
                               .weight = array<T>(operands, 2),
                               .statistics = array<T>(operands, 3),
                               .dx = array<T>(operands, 4),
                               .d_weight = array<T>(operands, 5),
                               .d_bias = layer ? array<T>(operands, 6) : nullptr,
                               .partial = array<T>(operands, layer ? 7 : 6),
                               .adds = operands[4].access == Access::kReadWrite};
  context.pool->run(range_count(s.rows, kReductionRows), [&](std::int64_t task, std::int64_t) { kernel.tile(task); });
  context.pool->run(range_count(s.inputs, kColumns), [&](std::int64_t task, std::int64_t) {
    const Range columns = range_at(task, s.inputs, kColumns);
    kernel.sum_tiles(columns, 0, kernel.d_weight);
    if (layer) kernel.sum_tiles(columns, 1, kernel.d_bias);
  });
}

PLIMSOLL_INSTANTIATE_KERNEL(norm);
PLIMSOLL_INSTANTIATE_KERNEL(norm_backward);

}  // namespace plimsoll::kernels
