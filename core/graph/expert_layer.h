#pragma once

#include <vector>

#include "core/graph/layer_writer.h"

namespace plimsoll {

/// What a mixture's forward pass leaves for its backward pass.
struct SavedExperts {
  /// Rows that the experts of this rank have of one rank, itself or another, with which it shares them.
  struct Visit {
    TensorId routing, sent, in, act;
  };
  TensorId scores, gates, routing, statistics, counts, out;
  std::vector<Visit> visits;  ///< one where nobody shares them
};

/// From the norm that the experts' router reads to what they add to the stream. `training`: the router draws its random
/// numbers and activations are dropped.
TensorId experts_forward(LayerWriter& write, GroupId group, TensorId x, bool training, SavedExperts& saved);

/// Once a micro-batch, when all routers have chosen: the auxiliary losses. Returns what their gradients need of all blocks
/// together; an invalid id when there are no routers.
TensorId balance_experts(LayerWriter& write, const std::vector<TensorId>& statistics);

/// Gradient of `x` from that of the stream and of the auxiliary losses.
TensorId experts_backward(LayerWriter& write, GroupId group, TensorId d_stream, TensorId x, TensorId slopes,
                          const SavedExperts& saved);

}  // namespace plimsoll
