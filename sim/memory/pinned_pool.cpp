#include "sim/memory/pinned_pool.h"

#include <bit>

namespace plimsoll {

Bytes PinnedPool::block_of(Bytes wanted) {
  return Bytes(static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(wanted.count))));
}

void PinnedPool::take(Bytes wanted) {
  const Bytes block = block_of(wanted);
  auto& free = free_[block.count];
  if (free > 0) {
    --free;
  } else {
    locked_ += block;
  }
}

void PinnedPool::give_back(Bytes wanted) { ++free_[block_of(wanted).count]; }

}  // namespace plimsoll
