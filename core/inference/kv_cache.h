#pragma once

#include <cstdint>

#include "core/inference/group_code.h"
#include "core/model/model_spec.h"

namespace plimsoll {

/// Tokens of a sequence whose keys and values a decoder still needs: all, or with a sliding window at most that many.
std::int64_t cached_tokens(const ModelSpec& spec, std::int64_t tokens);

/// Numbers of one token and block: a key and a value for each of its key heads.
std::int64_t kv_numbers_per_block(const ModelSpec& spec);

/// Bytes of one token in all blocks: 2 · blocks · kv_heads · head_dim · bytes a number.
Bytes kv_bytes_per_token(const ModelSpec& spec, DType type, GroupCode code = {});

/// Bytes of the cache of `sequences` of `tokens` each; with a window only the last ones are kept.
Bytes kv_cache_bytes(const ModelSpec& spec, std::int64_t sequences, std::int64_t tokens, DType type, GroupCode code = {});

}  // namespace plimsoll
