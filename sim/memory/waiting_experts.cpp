#include "sim/memory/waiting_experts.h"

#include "sim/memory/pinned_pool.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kScaledWeights = 64;  // that share an fp32 scale

/// A matrix's codes and its scales.
Bytes codes_of(std::int64_t weights) { return Bytes(weights / 2); }
Bytes scales_of(std::int64_t weights) { return Bytes(weights / kScaledWeights * 4); }

void pass_through(PinnedPool& pool, Bytes tensor) {
  pool.take(tensor);
  pool.give_back(tensor);
}

/// The two-byte experts of one layer, as the checkpoint holds them.
void load_experts(PinnedPool& pool, const WaitingExperts& waiting) {
  const std::int64_t matrix = 2 * waiting.hidden * waiting.width;
  pass_through(pool, Bytes(waiting.fused ? 2 * matrix * waiting.experts : matrix));
  pass_through(pool, Bytes(waiting.fused ? matrix * waiting.experts : matrix));
}

void keep_layer(PinnedPool& pool, const WaitingExperts& waiting) {
  const std::int64_t down = waiting.experts * waiting.hidden * waiting.width;
  for (const std::int64_t weights : {2 * down, down}) {
    pool.take(codes_of(weights));
    pool.take(scales_of(weights));
  }
}

}  // namespace

Bytes expert_bytes(const WaitingExperts& waiting) {
  const std::int64_t weights = 3 * waiting.hidden * waiting.width;
  return codes_of(weights) + scales_of(weights);
}

Bytes locked_for(const WaitingExperts& waiting) {
  PinnedPool pool;
  for (std::int64_t layer = 0; waiting.rows == 0 && layer < waiting.layers; ++layer) {
    load_experts(pool, waiting);
    keep_layer(pool, waiting);
  }
  for (const Bytes tensor : waiting.dense) pass_through(pool, tensor);
  if (waiting.rows > 0) pool.take(expert_bytes(waiting) * waiting.rows);
  return pool.locked();
}

}  // namespace plimsoll
