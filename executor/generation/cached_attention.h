#pragma once

#include "core/graph/op.h"
#include "executor/generation/key_value_cache.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll {

/// Attention of `shape.rows` tokens that follow `past` others: their keys and values go into rows past … of the cache, and
/// token i sees the rows up to its own. `qkv` is [rows, query heads | key heads | value heads], `out` [rows, heads × head_dim].
void cached_attention(const OpShape& shape, std::int64_t past, const float* qkv, KeyValueCache::Block& cache, float* out,
                      WorkerPool& pool);

}  // namespace plimsoll
