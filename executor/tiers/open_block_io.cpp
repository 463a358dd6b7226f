#include <fmt/format.h>

#include "core/base/error.h"
#include "executor/tiers/block_io.h"
#include "executor/tiers/ring_io.h"
#include "executor/tiers/thread_io.h"

namespace plimsoll {

OpenedIo open_block_io(const DriveFile& file, std::span<const std::span<std::byte>> memory, IoWay way,
                       const IoDepth& depth) {
  if (way == IoWay::kThreads) return {std::make_unique<ThreadIo>(file, depth), {}};
  try {
    auto ring = std::make_unique<RingIo>(file, depth);
    std::string reason;
    if (way != IoWay::kRing) reason = ring->register_memory(memory).value_or("");
    return {std::move(ring), std::move(reason)};
  } catch (const EnvironmentError& refused) {
    return {std::make_unique<ThreadIo>(file, depth), refused.error().what};
  }
}

}  // namespace plimsoll
