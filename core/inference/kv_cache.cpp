#include "core/inference/kv_cache.h"

#include <algorithm>

namespace plimsoll {

std::int64_t cached_tokens(const ModelSpec& spec, std::int64_t block, std::int64_t tokens) {
  return spec.has_window(block) ? std::min(tokens, spec.window) : tokens;
}

std::int64_t most_cached_tokens(const ModelSpec& spec, std::int64_t tokens) {
  std::int64_t most = 0;
  for (std::int64_t block = 0; block < spec.layers; ++block) most = std::max(most, cached_tokens(spec, block, tokens));
  return most;
}

std::int64_t kv_numbers_per_block(const ModelSpec& spec) {
  return spec.latent.exists() ? spec.latent.kv_rank + spec.latent.rope_dim : 2 * spec.kv_heads * spec.head_dim;
}

Bytes kv_bytes_per_token(const ModelSpec& spec, DType type, GroupCode code) {
  return spec.layers * code.bytes_of(kv_numbers_per_block(spec), type);
}

Bytes kv_cache_bytes(const ModelSpec& spec, std::int64_t sequences, std::int64_t tokens, DType type, GroupCode code) {
  std::int64_t held = 0;
  for (std::int64_t block = 0; block < spec.layers; ++block) held += cached_tokens(spec, block, tokens);
  return sequences * held * code.bytes_of(kv_numbers_per_block(spec), type);
}

}  // namespace plimsoll
