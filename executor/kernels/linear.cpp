#include <array>

#include "core/graph/op_work.h"
#include "executor/kernels/kernels.h"
#include "executor/kernels/matrix_product.h"
#include "executor/kernels/storage.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll::kernels {
namespace {

constexpr std::int64_t kColumns = 128;  // of one task of the bias gradient

/// Column sums of dy: tiles of kReductionRows rows are summed first, then the tiles in order.
template <typename S>
void bias_gradient(const OpShape& s, const S* dy, S* d_bias, WorkerPool& pool) {
  using T = Arithmetic<S>;
  const Loops<T>& loop = loops<T>();
  pool.run(range_count(s.outputs, kColumns), [&](std::int64_t task, std::int64_t) {
    const Range columns = range_at(task, s.outputs, kColumns);
    PieceScratch<S> sums, gradient;
    T* out = opened(columns.size(), d_bias + columns.begin, sums.values);
    std::fill(out, out + columns.size(), T(0));
    for (std::int64_t tile = 0; tile < range_count(s.rows, kReductionRows); ++tile) {
      const Range rows = range_at(tile, s.rows, kReductionRows);
      std::array<T, kColumns> sum{};
      for (std::int64_t row = rows.begin; row < rows.end; ++row) {
        const S* of_row = dy + row * s.outputs + columns.begin;
        loop.add_to(columns.size(), widened(columns.size(), of_row, gradient.values), sum.data());
      }
      loop.add_to(columns.size(), sum.data(), out);
    }
    store(columns.size(), out, d_bias + columns.begin);
  });
}

}  // namespace

namespace {

/// Elements from row to row of y and dy.
std::int64_t stride_of(const OpShape& s) { return s.stride == 0 ? s.outputs : s.stride; }

double factor_of(const OpShape& s) { return s.constant == 0 ? 1 : s.constant; }

/// The gradient that is multiplied: [rows, depth] of dy, or of dyᵀ.
struct GradientFactor {
  std::int64_t rows;
  std::int64_t depth;
  bool turned;
};

/// dy times the other operand, whose rows are as wide as those of the result: of x.
template <typename S>
Product<S> gradient_product(const OpShape& s, Operands operands, const GradientFactor& dy) {
  return {.rows = dy.rows,
          .columns = s.inputs,
          .depth = dy.depth,
          .a = {array<S>(operands, 0), stride_of(s), dy.turned},
          .b = {array<S>(operands, 1), s.inputs, false},
          .c = array<S>(operands, 2),
          .c_stride = s.inputs,
          .adds = operands[2].access == Access::kReadWrite,
          .factor = factor_of(s)};
}

}  // namespace

template <typename S>
void linear(const OpShape& s, Operands operands, const LaunchContext& context) {
  const bool has_bias = operands.size() == 4;
  const Product<S> product{.rows = s.rows,
                           .columns = s.outputs,
                           .depth = s.inputs,
                           .a = {array<S>(operands, 0), s.inputs, false},
                           .b = {array<S>(operands, 1), s.inputs, true},
                           .c = array<S>(operands, has_bias ? 3 : 2),
                           .c_stride = stride_of(s),
                           .adds = operands[has_bias ? 3 : 2].access == Access::kReadWrite,
                           .factor = factor_of(s)};
  tiled_product(*context.pool, *context.product, product, has_bias ? array<S>(operands, 2) : nullptr);
}

template <typename S>
void linear_backward_input(const OpShape& s, Operands operands, const LaunchContext& context) {
  const auto product = gradient_product<S>(s, operands, {.rows = s.rows, .depth = s.outputs, .turned = false});
  tiled_product(*context.pool, *context.product, product);
}

template <typename S>
void linear_backward_weight(const OpShape& s, Operands operands, const LaunchContext& context) {
  const auto product = gradient_product<S>(s, operands, {.rows = s.outputs, .depth = s.rows, .turned = true});
  tiled_product(*context.pool, *context.product, product);
  if (operands.size() == 4) bias_gradient(s, array<S>(operands, 0), array<S>(operands, 3), *context.pool);
}

PLIMSOLL_INSTANTIATE_HALF_KERNEL(linear);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(linear_backward_input);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(linear_backward_weight);

}  // namespace plimsoll::kernels
