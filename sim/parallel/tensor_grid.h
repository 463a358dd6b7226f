#pragma once

#include "sim/parallel/collectives.h"
#include "sim/parallel/stage_pieces.h"

namespace plimsoll {

/// The line of tensor ranks whose kernels are those of a device in the layout's square or cube: as many ranks as the grid has
/// on a side share the columns, and the rows are divided over the rest. A layout in a line is its own.
ParallelLayout line_of(const ParallelLayout& layout);

/// Seconds that a device of the grid waits for others in one layer, forward and backward.
struct GridSends {
  double forward = 0;
  double backward = 0;
};

/// One layer Y = X W over the grid, as core/parallel/tensor_layout.h counts it: blocks of X along a row of the grid, of W along
/// a column (and over the depth), of Y along the cube's third axis. Rows of the grid lie side by side.
GridSends grid_sends(const SharedLinear& linear, const ParallelLayout& layout, std::int64_t number_bytes, const Cluster& cluster);

/// Turns what one block (or the head) costs in line_of(layout) into what it costs in the grid: its collectives are those of its
/// linear layers, which nothing hides, and weights are cut over all devices (of a square, of 2.5D).
void use_grid(PieceCost& cost, const std::vector<SharedLinear>& linears, const ParallelLayout& layout, std::int64_t number_bytes,
              const Cluster& cluster);

/// The linear layers of a block, and of the head, with the rows of a micro-batch.
std::vector<SharedLinear> linears_of_block(const ModelSpec& spec, double rows);
std::vector<SharedLinear> linears_of_head(const ModelSpec& spec, double rows);

}  // namespace plimsoll
