#pragma once

#include "core/graph/layer_writer.h"

namespace plimsoll {

/// What attention's forward pass leaves for its backward pass.
struct SavedAttention {
  TensorId raw_qkv, head_statistics, qkv, attention, log_sum_exp;
  TensorId distance_bias, d_distance_bias;  ///< of relative positions; made by the first block of a stack, given to all others
  bool last_of_stack = false;               ///< whose backward pass is the first to reach them
};

/// From what the block's first norm made to what attention adds to the stream.
TensorId attention_forward(LayerWriter& write, GroupId group, TensorId x, SavedAttention& saved);

/// Gradient of `x` from that of the stream.
TensorId attention_backward(LayerWriter& write, GroupId group, TensorId d_stream, TensorId x, const SavedAttention& saved);

}  // namespace plimsoll
