#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "sim/memory/caching_allocator.h"
#include "sim/stack/tape/storage_log.h"

namespace plimsoll {

/// What an allocator makes of a log of births and deaths.
struct Replay {
  Bytes requested;  ///< highest
  Bytes allocated;
  Bytes reserved;
  std::array<Bytes, kHoldings> at_peak{};  ///< blocks by what they hold, when most are allocated
  std::uint32_t peak_place = 0;
  std::optional<std::uint32_t> ran_out_at;  ///< place of the request that could not be met
};

/// Runs the log through a new allocator.
Replay replay_log(const StorageLog& log, const CachingAllocatorOptions& options);

/// What was seen until all was over, and what until some steps were.
struct ReplayedSteps {
  Replay whole;
  Replay first;
};

/// The same, and what was seen in the first `first_step` events (all when 0).
ReplayedSteps replay_steps(const StorageLog& log, const CachingAllocatorOptions& options, std::size_t first_step);

/// The least memory with which the allocator gets through the log, within 2 MiB; it lies between what is allocated and what
/// is reserved when there is no limit. Where it is at most `good`, some memory from it up to that.
Bytes least_memory(const StorageLog& log, const CachingAllocatorOptions& options, const Replay& unlimited, Bytes good = {});

}  // namespace plimsoll
