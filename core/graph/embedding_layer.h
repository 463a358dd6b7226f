#pragma once

#include "core/graph/layer_writer.h"

namespace plimsoll {

/// What the embedding's forward pass leaves for its backward pass.
struct SavedEmbedding {
  TensorId sum, statistics;  ///< what the embedding's norm read, where there is one
};

/// The stream before the first block: from tokens, their places and their segments, or from patches.
TensorId embedding_forward(LayerWriter& write, SavedEmbedding& saved);

/// The gradients of the embedding's parameters from `d_stream`. `d_table` says how the token table's gradient is found.
void embedding_backward(LayerWriter& write, TensorId d_stream, Access d_table, const SavedEmbedding& saved);

/// What the tokens of one stack add to the gradients of the tables, where another stack's are to follow.
void token_gradients(LayerWriter& write, TensorId dy, Access d_table);

}  // namespace plimsoll
