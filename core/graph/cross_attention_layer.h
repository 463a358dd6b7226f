#pragma once

#include "core/graph/layer_writer.h"

namespace plimsoll {

/// What an encoder made, for the cross attention of every block of the decoder behind it.
struct EncoderOutput {
  TensorId made, gradient;
  std::int64_t sequence = 0;  ///< its tokens of a sequence
};

/// What cross attention's forward pass leaves for its backward pass.
struct SavedCrossAttention {
  EncoderOutput memory;            ///< given; none where a block has no cross attention
  bool first_in_backward = false;  ///< given: no other block has put its part of the memory's gradient yet
  TensorId input, norm, statistics, queries, keys, attention, log_sum_exp;
};

/// From the stream behind a block's attention to that behind its cross attention.
TensorId cross_attention_forward(LayerWriter& write, GroupId group, TensorId stream, SavedCrossAttention& saved);

/// Turns `d_stream`, the gradient of the stream behind, into that of the stream before, and adds to the memory's
/// gradient.
void cross_attention_backward(LayerWriter& write, GroupId group, TensorId d_stream, const SavedCrossAttention& saved);

}  // namespace plimsoll
