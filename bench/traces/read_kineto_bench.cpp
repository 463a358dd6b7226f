#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "formats/traces/read_kineto.h"

namespace plimsoll {
namespace {

/// A trace as Kineto writes them, about 250 bytes an event: of four one operator, one call, one kernel, one arrow.
std::string written_trace(std::int64_t events) {
  const std::string path = (std::filesystem::temp_directory_path() / fmt::format("plimsoll-bench-{}.json", events)).string();
  std::ofstream out(path, std::ios::binary);
  out << R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}], "traceEvents": [)";
  for (std::int64_t i = 0; i < events; ++i) {
    const std::int64_t launch = i / 4;
    const std::string time = fmt::format("{}.{:03}", 1'700'000'000'000'000 + 10 * i, i % 1000);
    out << (i == 0 ? "\n" : ",\n");
    switch (i % 4) {
      case 0:
        out << fmt::format(R"({{"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 10, "tid": 11, "ts": {}, "dur": 9.5, )"
                           R"("args": {{"External id": {}, "Ev Idx": {}, "Input Dims": [[2304], [1024, 768], [768, 2304], [], []]}}}})",
                           time, launch, i);
        break;
      case 1:
        out << fmt::format(R"({{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 10, "tid": 11, "ts": {}, "dur": 4.25, )"
                           R"("args": {{"External id": {}, "cbid": 211, "correlation": {}}}}})",
                           time, launch, launch + 1);
        break;
      case 2:
        out << fmt::format(R"({{"ph": "X", "cat": "kernel", "name": "ampere_sgemm_128x64_tn", "pid": 0, "tid": 7, "ts": {}, "dur": 8.5, )"
                           R"("args": {{"External id": {}, "device": 0, "context": 1, "stream": 7, "correlation": {}, "registers per thread": 122, )"
                           R"("shared memory": 12544, "blocks per SM": 2.6, "grid": [18, 16, 1], "block": [128, 1, 1], "est. achieved occupancy %": 31}}}})",
                           time, launch, launch + 1);
        break;
      default:
        out << fmt::format(R"({{"ph": "s", "id": {}, "pid": 10, "tid": 11, "ts": {}, "cat": "ac2g", "name": "ac2g"}})", launch + 1, time);
    }
  }
  out << "\n]}\n";
  return path;
}

/// One item is one event of the file. `peak_mib` is the process's largest memory so far.
void read_kineto_events(benchmark::State& state) {
  const std::string path = written_trace(state.range(0));
  for (auto _ : state) {
    auto recording = read_kineto(path);
    if (!recording) return state.SkipWithError(recording.error().what.c_str());
    benchmark::DoNotOptimize(recording->work.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(std::filesystem::file_size(path)));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["peak_mib"] = static_cast<double>(usage.ru_maxrss) / 1024;
  std::filesystem::remove(path);
}

/// A trace of one's own, where PLIMSOLL_TRACE names one. Items are what was decoded, fewer than the file's events.
void read_named_file(benchmark::State& state) {
  const char* const path = std::getenv("PLIMSOLL_TRACE");
  std::size_t decoded = 0;
  for (auto _ : state) {
    auto recording = read_kineto(path);
    if (!recording) return state.SkipWithError(recording.error().what.c_str());
    decoded += recording->work.size() + recording->calls.size() + recording->ranges.size() + recording->allocations.size();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(decoded));
}
[[maybe_unused]] const bool named =
    std::getenv("PLIMSOLL_TRACE") != nullptr &&
    benchmark::RegisterBenchmark("read_named_file", read_named_file)->Unit(benchmark::kMillisecond) != nullptr;
BENCHMARK(read_kineto_events)->Arg(216'000)->Arg(2'000'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace plimsoll
