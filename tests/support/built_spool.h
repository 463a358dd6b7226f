#pragma once

#include <string>

#include "profiler/decode/spool_writer.h"

namespace plimsoll::test {

/// The capture's clock of a built spool runs 1,000,000 ns behind the calendar, and the capture began at 5,000,000 of the
/// calendar.
inline constexpr std::int64_t kBehind = 1'000'000;
inline constexpr std::int64_t kStarted = 5'000'000;
inline constexpr std::uint32_t kBuiltProcess = 4242;

/// A time of the recording, on the capture's clock.
constexpr std::uint64_t capture_time(std::int64_t recorded) { return static_cast<std::uint64_t>(recorded + kStarted - kBehind); }

/// A call of thread 7, from and to these times.
inline void add_built_call(SpoolWriter& spool, std::int64_t start, std::int64_t end, std::uint32_t correlation, const char* name) {
  spool.add(CallRecord{.start = capture_time(start),
                       .end = capture_time(end),
                       .process = kBuiltProcess,
                       .thread = 7,
                       .correlation = correlation,
                       .name = spool.name(name)});
}

/// Two readings of the clocks, and the GPU.
inline void add_built_machine(SpoolWriter& spool) {
  for (const std::int64_t moment : {std::int64_t{0}, std::int64_t{200'000'000}})
    spool.add(ClockRecord{
        .capture = static_cast<std::int64_t>(capture_time(moment)), .steady = moment, .calendar = kStarted + moment});
  spool.add(DeviceRecord{.memory = std::uint64_t{6} << 30,
                         .device = 0,
                         .name = spool.name("NVIDIA GeForce RTX 2060"),
                         .compute_major = 7,
                         .compute_minor = 5,
                         .multiprocessors = 30});
}

/// The copy, and the event for which stream 1 waits.
inline void add_built_copy(SpoolWriter& spool) {
  const auto at = capture_time;
  add_built_call(spool, 200, 900, 10, "cudaMemcpyAsync");
  spool.add(CopyRecord{.start = at(1000),
                       .end = at(3000),
                       .bytes = 4096,
                       .context = 1,
                       .stream = 2,
                       .correlation = 10,
                       .kind = 1,
                       .source_kind = 1,
                       .target_kind = 2});
  add_built_call(spool, 920, 950, 11, "cudaEventRecord");
  spool.add(EventRecord{.event_sync = 77, .correlation = 11, .context = 1, .stream = 2, .event = 9});
  add_built_call(spool, 960, 990, 12, "cudaStreamWaitEvent");
  spool.add(SyncRecord{
      .start = at(960), .end = at(990), .event_sync = 77, .correlation = 12, .context = 1, .stream = 1, .event = 9, .kind = 2});
}

inline void add_built_kernels(SpoolWriter& spool) {
  std::int64_t start = 3100;
  for (const std::uint32_t correlation : {13u, 14u}) {
    const std::int64_t length = correlation == 13 ? 2000 : 1000;
    const std::int64_t call = 1000 + (correlation - 13) * 500;
    spool.add(ExternalRecord{.external = (std::uint64_t{3} << 32) | (correlation - 8), .correlation = correlation});
    add_built_call(spool, call, call + 400, correlation, "cudaLaunchKernel");
    spool.add(KernelRecord{.start = capture_time(start),
                           .end = capture_time(start + length),
                           .grid = {30, 2, 1},
                           .block = {128, 1, 1},
                           .context = 1,
                           .stream = 1,
                           .correlation = correlation,
                           .name = spool.name("_ZN2ns4gemmIfEEvPT_"),
                           .registers = 40,
                           .dynamic_shared = 1024});
    start += length + 100;
  }
}

/// What a small program does, in nanoseconds from the beginning: on thread 7 it copies 4096 bytes up on stream 2 (1000–3000),
/// records event 9 there, lets stream 1 wait for it, and launches two kernels on stream 1 (3100–5100, 5200–6200) within the range
/// "step 0"; then it waits for stream 1 (till 6300). It asks for 4096 bytes and gives them back. The kernels are instructions 5
/// and 6 of step 3.
inline void write_small_program(SpoolWriter& spool) {
  const auto at = capture_time;
  add_built_machine(spool);
  spool.add(MarkRecord{.time = at(100), .id = 1, .thread = 7, .name = spool.name("step 0"), .kind = MarkKind::kBegin});
  spool.add(MemoryRecord{.time = at(150), .address = 0x7000, .bytes = 4096, .device = 0, .context = 1, .memory_kind = 2});
  add_built_copy(spool);
  add_built_kernels(spool);
  spool.add(FillRecord{.start = at(6250), .end = at(6260), .bytes = 64, .context = 1, .stream = 1, .correlation = 15});
  add_built_call(spool, 2000, 6300, 16, "cudaStreamSynchronize");
  spool.add(SyncRecord{.start = at(2000), .end = at(6300), .correlation = 16, .context = 1, .stream = 1, .kind = 3});
  spool.add(ReadingRecord{.time = at(6350), .free = std::uint64_t{5} << 30, .total = std::uint64_t{6} << 30});
  spool.add(MemoryRecord{.time = at(6400), .address = 0x7000, .device = 0, .context = 1, .released = 1, .memory_kind = 2});
  spool.add(MarkRecord{.time = at(6500), .id = 1, .thread = 7, .name = spool.name("step 0"), .kind = MarkKind::kEnd});
}

/// The same as a file that was closed.
inline void write_small_spool(const std::string& path) {
  SpoolWriter spool(path, {.process = kBuiltProcess, .started = kStarted, .cupti_version = 0});
  write_small_program(spool);
  spool.close();
}

}  // namespace plimsoll::test
