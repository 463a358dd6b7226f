#pragma once

#include <string>

#include "sim/stack/megatron/attention_heads.h"
#include "sim/stack/megatron/megatron_layers.h"

namespace plimsoll {

/// Queries, keys and values from narrow vectors of each token (megatron/core/transformer/multi_latent_attention.py): every rank has what
/// makes those, for the rows that it holds; what widens them is cut by heads, behind a norm.
struct RankLatent {
  Weights query_down, query_norm;  ///< nothing where queries come from the stream itself
  Weights query, down, norm, key_value;
  Tensor angles;  ///< of the rotation, which each layer makes for itself and keeps

  [[nodiscard]] bool exists() const { return down.weight != nullptr; }
};

RankLatent make_rank_latent(Tape& tape, const std::string& name, const ModelSpec& spec, const MegatronCut& cut);

/// x [rows, hidden], normed: what a rank's heads read, queries and keys [rows, heads · key_dim], values [rows, heads · value_dim].
RankHeads rank_latent_heads(Tape& tape, const Tensor& x, const RankLatent& own, const ModelSpec& spec, const MegatronCut& cut);

}  // namespace plimsoll
