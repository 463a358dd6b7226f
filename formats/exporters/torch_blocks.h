#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/model/model_spec.h"

namespace plimsoll {

/// How transformers' code calls a family's blocks, and which of our operators are how many of its modules.
struct TorchBlocks {
  std::string_view block_class;  ///< "GPT2Block"
  std::string_view list;         ///< name of the list of blocks: "transformer.h"
  int query_products = 1;        ///< linear layers that make queries, keys and values
  int inner_products = 1;        ///< linear layers that the feed-forward layer begins with
  bool fused_norms = true;       ///< a norm is one kernel (LayerNorm); an RMSNorm written out is several
};

/// Of a family with one stack of blocks that transformers has; nothing for others.
const TorchBlocks* torch_blocks(const ModelSpec& spec);

/// "transformer.h.3".
std::string block_name(const TorchBlocks& blocks, std::int64_t block);

}  // namespace plimsoll
