#include <algorithm>

#include "core/graph/op_tasks.h"
#include "executor/kernels/multiply.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll {
namespace {

template <typename T>
MatrixView<T> from_row(MatrixView<T> view, std::int64_t row) {
  view.data += view.transposed ? row : row * view.stride;
  return view;
}

template <typename T>
MatrixView<T> from_column(MatrixView<T> view, std::int64_t column) {
  view.data += view.transposed ? column * view.stride : column;
  return view;
}

}  // namespace

template <typename T>
void tiled_product(WorkerPool& pool, const MatrixProduct& library, const Product<T>& p, const T* bias) {
  const TileSize tile = tile_size(p.rows, p.columns);
  const std::int64_t row_tiles = (p.rows + tile.rows - 1) / tile.rows;
  const std::int64_t column_tiles = (p.columns + tile.columns - 1) / tile.columns;
  pool.run(row_tiles * column_tiles, [&](std::int64_t task, std::int64_t) {
    // Neighbouring tasks share their part of B, the weights.
    const std::int64_t row = task % row_tiles * tile.rows;
    const std::int64_t column = task / row_tiles * tile.columns;
    Product<T> part = p;
    part.rows = std::min(tile.rows, p.rows - row);
    part.columns = std::min(tile.columns, p.columns - column);
    part.a = from_row(p.a, row);
    part.b = from_column(p.b, column);
    part.c = p.c + row * p.c_stride + column;
    kernels::multiply(library, part, bias == nullptr ? nullptr : bias + column);
  });
}

template void tiled_product(WorkerPool&, const MatrixProduct&, const Product<float>&, const float*);
template void tiled_product(WorkerPool&, const MatrixProduct&, const Product<double>&, const double*);
template void tiled_product(WorkerPool&, const MatrixProduct&, const Product<Bf16>&, const Bf16*);
template void tiled_product(WorkerPool&, const MatrixProduct&, const Product<Fp16>&, const Fp16*);

}  // namespace plimsoll
