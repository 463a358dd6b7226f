#include "sim/planner/systems/chunk_size.h"

namespace plimsoll {

std::int64_t chunk_waste(const std::vector<std::int64_t>& tensors, std::int64_t chunk) {
  std::int64_t waste = 0;
  std::int64_t left = 0;  // of the chunk that is being filled
  for (const std::int64_t tensor : tensors) {
    if (tensor > chunk) continue;
    if (tensor > left) {
      waste += left;
      left = chunk;
    }
    left -= tensor;
  }
  return waste + left;
}

std::int64_t best_chunk(const std::vector<std::int64_t>& tensors, const ChunkRange& range) {
  std::int64_t best = range.least;
  std::int64_t least = chunk_waste(tensors, best);
  for (std::int64_t chunk = range.least + range.interval; chunk <= range.most && least > 0; chunk += range.interval) {
    const std::int64_t waste = chunk_waste(tensors, chunk);
    if (waste >= least) continue;
    best = chunk;
    least = waste;
  }
  return best;
}

}  // namespace plimsoll
