#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "core/graph/graph_builder.h"

namespace plimsoll {

/// Writes what low-rank adapters add to a linear layer of a block, forward and backward. A weight that is several matrices to
/// them (queries, keys and values) has an adapter for each, which works on its columns of the layer's output.
class AdapterLayer {
 public:
  explicit AdapterLayer(GraphBuilder& build) : build_(build) {}

  /// y += scale · (x Aᵀ) Bᵀ for every adapter beside that weight; `width` is that of y. Nothing when there is none.
  void forward(std::int64_t block, ParameterRole weight, TensorId x, TensorId y, std::int64_t width);
  /// The gradients of their A and B, and dx += scale · (dy B) A.
  void backward(std::int64_t block, ParameterRole weight, TensorId dy, TensorId x, TensorId dx, std::int64_t width);

 private:
  GraphBuilder& build_;
  std::map<std::pair<std::int64_t, AdapterTarget>, TensorId> narrow_;  ///< x Aᵀ, by block and target
};

}  // namespace plimsoll
