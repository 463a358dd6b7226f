#include "executor/generation/cached_attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "executor/kernels/loops.h"

namespace plimsoll {
namespace {

struct Sizes {
  std::int64_t heads, kv_heads, dim, kv_width, qkv_width;
};

Sizes sizes_of(const OpShape& s) {
  return {s.heads, s.kv_heads, s.head_dim, s.kv_heads * s.head_dim, (s.heads + 2 * s.kv_heads) * s.head_dim};
}

void append(const OpShape& shape, std::int64_t past, const float* qkv, KeyValueCache::Block& cache) {
  const Sizes at = sizes_of(shape);
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    const float* keys = qkv + row * at.qkv_width + at.heads * at.dim;
    std::copy_n(keys, at.kv_width, cache.keys.data() + (past + row) * at.kv_width);
    std::copy_n(keys + at.kv_width, at.kv_width, cache.values.data() + (past + row) * at.kv_width);
  }
}

/// One head of one token, over `seen` tokens.
void attend(const Sizes& at, std::int64_t seen, const float* query, const float* keys, const float* values, float* scores,
            float* out) {
  const Loops<float>& loop = loops<float>();
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(at.dim)));
  for (std::int64_t t = 0; t < seen; ++t) scores[t] = loop.dot(at.dim, query, keys + t * at.kv_width);
  const float sum = loop.exp_in_place(seen, scale, scale * loop.largest(seen, scores), scores);
  std::fill_n(out, at.dim, 0.0F);
  for (std::int64_t t = 0; t < seen; ++t) loop.scale_add_to(at.dim, scores[t], values + t * at.kv_width, out);
  loop.scale(at.dim, 1 / sum, out);
}

}  // namespace

void cached_attention(const OpShape& shape, std::int64_t past, const float* qkv, KeyValueCache::Block& cache, float* out,
                      WorkerPool& pool) {
  append(shape, past, qkv, cache);
  const Sizes at = sizes_of(shape);
  const std::int64_t longest = past + shape.rows;
  std::vector<float> scores(static_cast<std::size_t>(pool.workers() * longest));
  pool.run(shape.rows * at.heads, [&](std::int64_t task, std::int64_t worker) {
    const std::int64_t row = task / at.heads;
    const std::int64_t head = task % at.heads;
    const std::int64_t kv = head / (at.heads / at.kv_heads) * at.dim;
    attend(at, past + row + 1, qkv + row * at.qkv_width + head * at.dim, cache.keys.data() + kv, cache.values.data() + kv,
           scores.data() + worker * longest, out + row * at.heads * at.dim + head * at.dim);
  });
}

}  // namespace plimsoll
