#pragma once

#include <cstdint>
#include <functional>

#include "formats/machines/machine_probe.h"
#include "profiler/microbench/timing.h"

namespace plimsoll {

/// What to move when memory is measured. Buffers larger than the last cache measure DRAM.
struct MemoryTrial {
  Bytes bytes_per_thread{64 * kMiB};
  std::int64_t threads = 1;
  TimingOptions timing;
};

/// Bytes a second that `threads` threads read together, each its own buffer.
Spread measure_read_rate(const MemoryTrial& trial);

/// Bytes a second that `threads` threads copy together, each between buffers of its own; a byte copied counts once.
Spread measure_copy_rate(const MemoryTrial& trial);

/// Seconds of one copy of `bytes` by one thread; consecutive copies touch different parts of buffers of `span` bytes.
Spread measure_copy_time(Bytes bytes, Bytes span, const TimingOptions& timing);

/// Runs `work` alone, copies alone, and both at once, in three rounds; the medians of what each round found.
PairSlowdown measure_beside_copies(const std::function<void()>& work, const MemoryTrial& copies);

}  // namespace plimsoll
