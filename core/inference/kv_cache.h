#pragma once

#include <cstdint>

#include "core/inference/group_code.h"
#include "core/model/model_spec.h"

namespace plimsoll {

/// Tokens of a sequence whose keys and values a block still needs: all, or with a sliding window at most that many.
std::int64_t cached_tokens(const ModelSpec& spec, std::int64_t block, std::int64_t tokens);

/// The same of the block that needs the most.
std::int64_t most_cached_tokens(const ModelSpec& spec, std::int64_t tokens);

/// Numbers of one token and block: a key and a value for each of its key heads; of latent attention the narrow vector
/// behind them all and the rotated part of the key (DeepSeek-AI 2024, DeepSeek-V2, section 2.1.4).
std::int64_t kv_numbers_per_block(const ModelSpec& spec);

/// Bytes of one token in all blocks: blocks · kv_numbers_per_block · bytes a number.
Bytes kv_bytes_per_token(const ModelSpec& spec, DType type, GroupCode code = {});

/// Bytes of the cache of `sequences` of `tokens` each; blocks with a window keep only the last ones.
Bytes kv_cache_bytes(const ModelSpec& spec, std::int64_t sequences, std::int64_t tokens, DType type, GroupCode code = {});

}  // namespace plimsoll
