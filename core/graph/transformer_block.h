#pragma once

#include "core/graph/attention_layer.h"
#include "core/graph/cross_attention_layer.h"
#include "core/graph/expert_layer.h"
#include "core/graph/feed_forward_layer.h"

namespace plimsoll {

/// What the forward pass of one block leaves for its backward pass.
struct SavedBlock {
  TensorId input, norm1, statistics1, middle, norm2, statistics2;
  TensorId attended, attended_statistics, fed, fed_statistics;  ///< what the norms behind the halves read
  TensorId end;  ///< what the second norm read, where norms follow the sums
  SavedAttention attention;
  SavedCrossAttention cross;  ///< of a decoder behind an encoder
  SavedFeedForward feed_forward;
  SavedExperts experts;
  TensorId slopes;  ///< of the auxiliary losses; set between the passes
};

/// Writes one block; returns the stream behind it. `training`: what is random is drawn.
TensorId block_forward(LayerWriter& write, GroupId group, TensorId stream, bool training, SavedBlock& saved);

/// Turns `d_stream`, the gradient of the stream behind the block, into that of the stream before it.
void block_backward(LayerWriter& write, GroupId group, TensorId d_stream, const SavedBlock& saved);

}  // namespace plimsoll
