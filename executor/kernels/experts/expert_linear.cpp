#include <array>
#include <vector>

#include "core/graph/op_tasks.h"
#include "core/graph/op_work.h"
#include "executor/kernels/index_check.h"
#include "executor/kernels/experts/routing.h"
#include "executor/kernels/multiply.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll::kernels {
namespace {

constexpr std::int64_t kColumns = 128;  // of one task of the bias gradient

/// Part of one expert's rows, and part of the columns of what is computed of them.
struct Tile {
  std::int64_t expert = 0;
  Range rows;
  Range columns;
};

/// Each expert's rows in tiles whose size depends on the shape alone: an expert with more rows has more tiles. Neighbours
/// share their part of the weight.
std::vector<Tile> tiles_of(const OpShape& s, const Routing& routing, std::int64_t width) {
  const TileSize size = tile_size(even_rows(s), width);
  std::vector<Tile> tiles;
  for (std::int64_t e = 0; e < s.experts; ++e) {
    const Range rows = routing.of(e);
    for (std::int64_t c = 0; c < range_count(width, size.columns); ++c) {
      for (std::int64_t r = 0; r < range_count(rows.size(), size.rows); ++r) {
        const Range part = range_at(r, rows.size(), size.rows);
        tiles.push_back({.expert = e,
                         .rows = {rows.begin + part.begin, rows.begin + part.end},
                         .columns = range_at(c, width, size.columns)});
      }
    }
  }
  return tiles;
}

/// Sums of columns of one expert's rows: tiles of kReductionRows rows are summed first, then the tiles in order.
template <typename S>
void sum_columns(const S* dy, std::int64_t stride, Range rows, std::int64_t columns, S* stored) {
  using T = Arithmetic<S>;
  PieceScratch<S> sums, gradient;
  T* out = opened(columns, stored, sums.values);
  std::fill(out, out + columns, T(0));
  for (std::int64_t tile = 0; tile < range_count(rows.size(), kReductionRows); ++tile) {
    const Range part = range_at(tile, rows.size(), kReductionRows);
    std::array<T, kColumns> sum{};
    for (std::int64_t row = part.begin; row < part.end; ++row) {
      loops<T>().add_to(columns, widened(columns, dy + (rows.begin + row) * stride, gradient.values), sum.data());
    }
    loops<T>().add_to(columns, sum.data(), out);
  }
  store(columns, out, stored);
}

template <typename S>
void bias_gradients(const OpShape& s, const Routing& routing, const S* dy, S* d_bias, WorkerPool& pool) {
  const std::int64_t parts = range_count(s.outputs, kColumns);
  pool.run(s.experts * parts, [&](std::int64_t task, std::int64_t) {
    const std::int64_t e = task / parts;
    const Range columns = range_at(task % parts, s.outputs, kColumns);
    sum_columns(dy + columns.begin, s.outputs, routing.of(e), columns.size(), d_bias + e * s.outputs + columns.begin);
  });
}

/// dW of one tile of one expert's weight: columns are those of the weight, `rows` its outputs.
template <typename S>
void weight_gradient(const OpShape& s, Range of_expert, const Tile& tile, const S* dy, const S* x, S* d_weight,
                     const MatrixProduct& product) {
  S* out = d_weight + (tile.expert * s.outputs + tile.rows.begin) * s.inputs + tile.columns.begin;
  if (of_expert.size() == 0) {
    for (std::int64_t row = 0; row < tile.rows.size(); ++row) std::fill_n(out + row * s.inputs, tile.columns.size(), S{});
    return;
  }
  multiply(product, Product<S>{.rows = tile.rows.size(),
                              .columns = tile.columns.size(),
                              .depth = of_expert.size(),
                              .a = {dy + of_expert.begin * s.outputs + tile.rows.begin, s.outputs, true},
                              .b = {x + of_expert.begin * s.inputs + tile.columns.begin, s.inputs, false},
                              .c = out,
                              .c_stride = s.inputs});
}

}  // namespace

template <typename S>
void expert_linear(const OpShape& s, Operands operands, const LaunchContext& context) {
  const bool has_bias = operands.size() == 5;
  const S *x = array<S>(operands, 0), *weights = array<S>(operands, 1), *biases = has_bias ? array<S>(operands, 2) : nullptr;
  const Routing routing(s, array<std::int32_t>(operands, has_bias ? 3 : 2));
  check_routing(s, routing);
  S* y = array<S>(operands, has_bias ? 4 : 3);
  const std::vector<Tile> tiles = tiles_of(s, routing, s.outputs);
  context.pool->run(static_cast<std::int64_t>(tiles.size()), [&](std::int64_t task, std::int64_t) {
    const auto& [expert, rows, columns] = tiles[static_cast<std::size_t>(task)];
    const Product<S> product{.rows = rows.size(),
                             .columns = columns.size(),
                             .depth = s.inputs,
                             .a = {x + rows.begin * s.inputs, s.inputs, false},
                             .b = {weights + (expert * s.outputs + columns.begin) * s.inputs, s.inputs, true},
                             .c = y + rows.begin * s.outputs + columns.begin,
                             .c_stride = s.outputs};
    multiply(*context.product, product, has_bias ? biases + expert * s.outputs + columns.begin : nullptr);
  });
  clear_unused(routing, s.outputs, y, *context.pool);
}

template <typename S>
void expert_linear_backward_input(const OpShape& s, Operands operands, const LaunchContext& context) {
  const S *dy = array<S>(operands, 0), *weights = array<S>(operands, 1);
  const Routing routing(s, array<std::int32_t>(operands, 2));
  check_routing(s, routing);
  S* dx = array<S>(operands, 3);
  const std::vector<Tile> tiles = tiles_of(s, routing, s.inputs);
  context.pool->run(static_cast<std::int64_t>(tiles.size()), [&](std::int64_t task, std::int64_t) {
    const auto& [expert, rows, columns] = tiles[static_cast<std::size_t>(task)];
    multiply(*context.product, Product<S>{.rows = rows.size(),
                                          .columns = columns.size(),
                                          .depth = s.outputs,
                                          .a = {dy + rows.begin * s.outputs, s.outputs, false},
                                          .b = {weights + expert * s.outputs * s.inputs + columns.begin, s.inputs, false},
                                          .c = dx + rows.begin * s.inputs + columns.begin,
                                          .c_stride = s.inputs});
  });
  clear_unused(routing, s.inputs, dx, *context.pool);
}

template <typename S>
void expert_linear_backward_weight(const OpShape& s, Operands operands, const LaunchContext& context) {
  const S *dy = array<S>(operands, 0), *x = array<S>(operands, 1);
  const Routing routing(s, array<std::int32_t>(operands, 2));
  check_routing(s, routing);
  S* d_weights = array<S>(operands, 3);
  const TileSize size = tile_size(s.outputs, s.inputs);
  const std::int64_t down = range_count(s.outputs, size.rows), across = range_count(s.inputs, size.columns);
  context.pool->run(s.experts * down * across, [&](std::int64_t task, std::int64_t) {
    const Tile tile{.expert = task / (down * across),
                    .rows = range_at(task % down, s.outputs, size.rows),
                    .columns = range_at(task / down % across, s.inputs, size.columns)};
    weight_gradient(s, routing.of(tile.expert), tile, dy, x, d_weights, *context.product);
  });
  if (operands.size() == 5) bias_gradients(s, routing, dy, array<S>(operands, 4), *context.pool);
}

PLIMSOLL_INSTANTIATE_HALF_KERNEL(expert_linear);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(expert_linear_backward_input);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(expert_linear_backward_weight);

}  // namespace plimsoll::kernels
