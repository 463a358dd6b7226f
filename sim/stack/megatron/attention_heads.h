#pragma once

#include "sim/stack/megatron/megatron_layers.h"

namespace plimsoll {

/// What attention reads, [rows, width] each: where nothing is done to queries and keys all three lie side by side in `queries`, and
/// `keys` and `values` are nothing.
struct RankHeads {
  Tensor queries, keys, values;

  [[nodiscard]] bool are_apart() const { return !keys.shape.empty(); }
};

/// Norms of heads, which all heads share; no weights where there are none.
struct HeadNorms {
  Weights queries, keys;
};

/// Heads of a product's result, in which a group's queries, keys and values lie side by side. What is rotated or normalized is a tensor of its
/// own, and so are grouped queries, whose heads are no view of it; Transformer Engine's attention takes three tensors that are not one only
/// in order (its get_qkv_layout), and so copies the others, values among them.
RankHeads attention_heads(Tape& tape, const Tensor& qkv, const HeadNorms& norms, const ModelSpec& spec, const MegatronCut& cut);

/// The same without a history.
RankHeads detached(const RankHeads& heads);
/// With keys and values of its own for every query head: copies of those that a group shares.
RankHeads of_every_head(Tape& tape, const RankHeads& heads, const ModelSpec& spec);
/// And back, a gradient summed over the heads of a group, as wide as what was read; as it is where no head is shared.
Tensor summed_over_heads(Tape& tape, Tensor gradient, const Tensor& read);

}  // namespace plimsoll
