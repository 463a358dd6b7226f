#pragma once

#include "core/graph/layer_writer.h"

namespace plimsoll {

/// What the feed-forward layer's forward pass leaves for its backward pass.
struct SavedFeedForward {
  TensorId ffn_in, ffn_act;
};

/// From the norm that the feed-forward layer reads to what it adds to the stream.
TensorId feed_forward(LayerWriter& write, GroupId group, TensorId x, SavedFeedForward& saved);

/// Gradient of `x` from that of the stream.
TensorId feed_forward_backward(LayerWriter& write, GroupId group, TensorId d_stream, TensorId x, const SavedFeedForward& saved);

}  // namespace plimsoll
