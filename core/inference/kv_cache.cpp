#include "core/inference/kv_cache.h"

#include <algorithm>

namespace plimsoll {

std::int64_t cached_tokens(const ModelSpec& spec, std::int64_t tokens) {
  return spec.window > 0 ? std::min(tokens, spec.window) : tokens;
}

std::int64_t kv_numbers_per_block(const ModelSpec& spec) { return 2 * spec.kv_heads * spec.head_dim; }

Bytes kv_bytes_per_token(const ModelSpec& spec, DType type, GroupCode code) {
  return spec.layers * code.bytes_of(kv_numbers_per_block(spec), type);
}

Bytes kv_cache_bytes(const ModelSpec& spec, std::int64_t sequences, std::int64_t tokens, DType type, GroupCode code) {
  return sequences * cached_tokens(spec, tokens) * kv_bytes_per_token(spec, type, code);
}

}  // namespace plimsoll
