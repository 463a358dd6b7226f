#pragma once

#include "sim/stack/modules/transformer_layers.h"

namespace plimsoll {

/// Causal attention of a rank's own queries to the keys of all `ranks`, which come to it one rank's after another, as PyTorch's
/// context_parallel has it (torch.distributed.tensor.experimental, rotation by all-gather, ranks loaded evenly): every rank has
/// an early and a late part of the sequence, so that each of its `ranks` blocks costs what its own causal one does. Results are
/// joined in fp32; gradients of keys travel on in fp32. `call` is of the rank's own tokens. Saves queries, keys and values of
/// its own, the result, and a sum of exponentials a row.
Tensor ring_attention(Tape& tape, const AttentionHeads& heads, const AttentionCall& call, std::int64_t ranks);

}  // namespace plimsoll
