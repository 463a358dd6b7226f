#pragma once

#include "core/graph/op.h"

namespace plimsoll {

/// Width of a row's query, key and value heads.
inline std::int64_t qkv_width(const OpShape& s) { return (s.heads + 2 * s.kv_heads) * s.head_dim; }

/// Width of a row's key and value heads.
inline std::int64_t keys_width(const OpShape& s) { return 2 * s.kv_heads * s.head_dim; }

/// Width of a row's query and key heads, which are rotated and may be normalized.
inline std::int64_t query_key_width(const OpShape& s) { return (s.heads + s.kv_heads) * s.head_dim; }

}  // namespace plimsoll
