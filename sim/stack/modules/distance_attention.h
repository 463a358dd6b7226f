#pragma once

#include "sim/stack/modules/transformer_layers.h"

namespace plimsoll {

/// Parameters of a block's attention by distance.
struct DistanceAttention {
  DenseLayer qkv;
  DenseLayer projection;
  DenseLayer distances;  ///< what turns a distance's sines into a key for each head
  Weights norm;
};

/// What the blocks of a forward pass share.
struct DistanceContext {
  Tensor positions;                  ///< sines and cosines of the distances [keys, 1, hidden]
  Tensor mask;                       ///< of the keys that a token does not see, a byte each
  Parameter* content_bias = nullptr;  ///< added to the queries before they meet the keys (r_w_bias)
  Parameter* distance_bias = nullptr;  ///< and before they meet the distances (r_r_bias)
};

/// Attention of Transformer-XL as NVIDIA's code computes it: keys and values of memory and segment together, scores of contents and of
/// distances, the latter shifted by a copy so that a column is a key; the residual sum and its norm behind. Rows are ordered by
/// token, then by sequence: [tokens, batch, hidden].
Tensor distance_attention(Tape& tape, const Tensor& x, const Tensor& memory, const DistanceAttention& weights,
                          const DistanceContext& shared, const BlockContext& context);

}  // namespace plimsoll
