#include "sim/parallel/tensor_grid.h"

namespace plimsoll {
namespace {

double real(std::int64_t n) { return static_cast<double>(n); }

/// A device's block of each of a layer's tensors, in bytes, and who shares it.
struct GridBlocks {
  double x = 0, w = 0, y = 0;
  RankGroup row, column, third;  ///< `third`: a cube's third axis, or the depth
};

GridBlocks blocks_of(const SharedLinear& linear, const ParallelLayout& layout, double bytes, const Cluster& cluster) {
  const DeviceGrid grid = layout.grid();
  const std::int64_t side = grid.side();
  const double p = real(layout.tensor_ranks);
  const bool deep = layout.tensor_layout == TensorLayout::kDeep;
  const std::int64_t last = deep ? layout.tensor_depth : layout.tensor_layout == TensorLayout::kCube ? side : 1;
  return {.x = linear.rows * linear.inputs * bytes / p,
          .w = linear.inputs * linear.outputs * bytes / (deep ? real(side * side) : p),
          .y = linear.rows * linear.outputs * bytes / p,
          .row = strided_group(side, 1, cluster),
          .column = strided_group(side, side, cluster),
          .third = strided_group(last, side * side, cluster)};
}

}  // namespace

ParallelLayout line_of(const ParallelLayout& layout) {
  if (layout.tensor_layout == TensorLayout::kLine) return layout;
  ParallelLayout line = layout;
  const std::int64_t side = layout.grid().side();
  line.tensor_layout = TensorLayout::kLine;
  line.tensor_depth = 1;
  line.tensor_ranks = side;
  line.micro_batch = layout.micro_batch / (layout.tensor_ranks / side);
  line.sequence_parallel = side > 1;  // norms and sums work on a part of the stream
  return line;
}

GridSends grid_sends(const SharedLinear& linear, const ParallelLayout& layout, std::int64_t number_bytes,
                     const Cluster& cluster) {
  const GridBlocks b = blocks_of(linear, layout, real(number_bytes), cluster);
  const double side = real(layout.grid().side());
  const auto along = [&](Collective kind, double block, const RankGroup& group) {
    return group.ranks < 2 ? 0 : seconds_of(kind, side * block, group, cluster);
  };
  const double gather_x = along(Collective::kAllGather, b.x, b.row), gather_w = along(Collective::kAllGather, b.w, b.column);
  const double scatter_x = along(Collective::kReduceScatter, b.x, b.row),
               scatter_w = along(Collective::kReduceScatter, b.w, b.column);
  if (layout.tensor_layout == TensorLayout::kCube) {
    const double gather_y = along(Collective::kAllGather, b.y, b.third);
    return {.forward = gather_x + gather_w + along(Collective::kReduceScatter, b.y, b.third),
            .backward = gather_y + gather_w + scatter_x + scatter_w};
  }
  GridSends sends{.forward = gather_x + gather_w, .backward = gather_w + scatter_x + gather_x + scatter_w};
  if (b.third.ranks > 1) sends.backward += seconds_of(Collective::kAllReduce, b.w, b.third, cluster);
  return sends;
}

void use_grid(PieceCost& cost, const std::vector<SharedLinear>& linears, const ParallelLayout& layout, std::int64_t number_bytes,
              const Cluster& cluster) {
  cost.forward_sends = cost.backward_sends = cost.hidden_sends = 0;
  for (const SharedLinear& linear : linears) {
    const GridSends sends = grid_sends(linear, layout, number_bytes, cluster);
    cost.forward_sends += sends.forward;
    cost.backward_sends += sends.backward;
    if (layout.recomputation == Recomputation::kFull) cost.backward_sends += sends.forward;
  }
  // A line of `side` ranks holds a part in `side` of the weights; the grid divides them once or twice more.
  const double side = real(layout.grid().side());
  const double further = layout.tensor_layout == TensorLayout::kCube ? side * side : side;
  for (const auto field :
       {&PieceCost::update, &PieceCost::parameters, &PieceCost::gradients, &PieceCost::states, &PieceCost::elements}) {
    cost.*field /= further;
  }
}

std::vector<SharedLinear> linears_of_block(const ModelSpec& spec, double rows) {
  const double stream = real(spec.hidden), heads = real(spec.heads * spec.head_dim), keys = real(spec.kv_heads * spec.head_dim);
  return {{rows, stream, heads + 2 * keys},
          {rows, heads, stream},
          {rows, stream, real(spec.ffn_in_width())},
          {rows, real(spec.ffn), stream}};
}

std::vector<SharedLinear> linears_of_head(const ModelSpec& spec, double rows) {
  return {{rows, real(spec.hidden), real(spec.outputs())}};
}

}  // namespace plimsoll
