#pragma once

#include <cstdint>
#include <vector>

#include "core/model/model_spec.h"

namespace plimsoll {

/// The keys and values of the tokens that a model has seen, block by block: row t of `keys` is [kv_heads × head_dim].
struct KeyValueCache {
  struct Block {
    std::vector<float> keys;
    std::vector<float> values;
  };

  /// Room for `longest` tokens.
  KeyValueCache(const ModelSpec& spec, std::int64_t longest)
      : width(spec.kv_heads * spec.head_dim), blocks(static_cast<std::size_t>(spec.layers)) {
    for (Block& block : blocks) {
      block.keys.resize(static_cast<std::size_t>(longest * width));
      block.values.resize(static_cast<std::size_t>(longest * width));
    }
  }

  std::int64_t width;
  std::int64_t tokens = 0;  ///< rows that are filled
  std::vector<Block> blocks;
};

}  // namespace plimsoll
