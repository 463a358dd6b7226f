#pragma once

#include <cstdint>

#include "core/graph/op.h"

namespace plimsoll {

/// Rows and columns of the tiles that a matrix product's result is cut into by the CPU kernels. They depend on the
/// result's size only, never on the workers; part of the numerics.
struct TileSize {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
};
TileSize tile_size(std::int64_t rows, std::int64_t columns);

/// Tasks that the CPU kernel of a matrix product (tiles) or of attention is cut into: no more workers than these can
/// take part. 0 for other kernels, which stream through memory in as many small ranges as there are.
std::int64_t tasks_of(OpKind kind, const OpShape& shape);

/// The share of a kernel's work that the busiest of so many CPU workers does, each taking the next task as soon as it
/// is free: 1 ÷ workers when the tasks can be shared evenly, 1 when there is but one.
double busiest_share(OpKind kind, const OpShape& shape, std::int64_t workers);

}  // namespace plimsoll
