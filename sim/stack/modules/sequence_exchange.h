#pragma once

#include "sim/stack/modules/transformer_layers.h"

namespace plimsoll {

/// Queries, keys and values of a rank's tokens become those of all tokens for its heads; fewer key heads than ranks are repeated first.
/// Each is copied into an order that ranks exchange, exchanged, and copied into the order of heads.
AttentionHeads exchanged_heads(Tape& tape, const AttentionHeads& heads, std::int64_t ranks);

/// Attention's result [b, heads, s, d] of a rank's heads becomes that of its tokens.
Tensor exchanged_back(Tape& tape, const Tensor& attended, std::int64_t ranks);

}  // namespace plimsoll
