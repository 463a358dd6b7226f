#pragma once

#include <vector>

#include "sim/stack/modules/transformer_layers.h"

namespace plimsoll {

/// Whether Unsloth's functions take these layers: an adapter beside each and no bias. Others stay PEFT's.
bool takes_adapters(const std::vector<const DenseLayer*>& layers);

/// Layers of one input in one function (queries, keys and values; the projection): keeps the input and nothing of the adapters'
/// own. A 4-bit matrix is decoded into a scratch that stays in the forward pass, and for a moment in backward. `overwrites`: the
/// input's gradient is written over the input that was kept.
Tensors adapted_products(Tape& tape, const Tensor& x, const std::vector<const DenseLayer*>& layers, bool overwrites);

/// The gated feed-forward layer in one function: keeps its input, gate and up. In backward one more tensor of their width becomes
/// their product, the gradients take the places of gate and up, and the input's that of the input.
Tensor adapted_feed_forward(Tape& tape, const Tensor& x, const FeedForwardWeights& weights);

/// The largest matrix of the blocks as it is decoded, which stays; nothing where none is encoded.
Tensor decoding_scratch(Tape& tape, const std::vector<BlockWeights>& blocks);

}  // namespace plimsoll
