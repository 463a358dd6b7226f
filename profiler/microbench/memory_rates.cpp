#include "profiler/microbench/memory_rates.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <thread>

namespace plimsoll {
namespace {

constexpr unsigned char kFilling = 1;
constexpr unsigned char kAbsent = 0xff;
constexpr int kRounds = 3;

/// Two buffers whose pages have been touched.
struct BufferPair {
  explicit BufferPair(Bytes bytes)
      : from(static_cast<std::size_t>(bytes.count), kFilling), to(static_cast<std::size_t>(bytes.count), kFilling) {}
  void copy() { std::memcpy(to.data(), from.data(), from.size()); }

  std::vector<unsigned char> from;
  std::vector<unsigned char> to;
};

/// Calls `work(thread)` on `threads` threads and waits for all.
template <typename Work>
void on_threads(std::int64_t threads, const Work& work) {
  std::vector<std::jthread> others;
  for (std::int64_t t = 1; t < threads; ++t) others.emplace_back([&work, t] { work(static_cast<std::size_t>(t)); });
  work(0);
}

double all_bytes(const MemoryTrial& trial) {
  return static_cast<double>(trial.bytes_per_thread.count) * static_cast<double>(trial.threads);
}

double median(std::vector<double> values) { return spread_of(std::move(values)).median; }

/// Threads that take turns on one core make some runs long and others not at all, so their mean counts.
double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Means of `work` and of copies, both running on until `work` has been timed.
std::pair<double, double> times_together(const std::function<void()>& work, BufferPair& buffers,
                                         const TimingOptions& timing) {
  std::atomic<bool> done{false};
  std::vector<double> copies;
  double of_work = 0;
  {
    const std::jthread copier([&] {
      const TimingOptions once{.seconds = 0, .runs = 1, .dropped = 0};
      do {
        const double seconds = time_runs([&] { buffers.copy(); }, once).front();
        if (!done || copies.empty()) copies.push_back(seconds);  // a copy that ended after the work was partly alone
      } while (!done);
    });
    of_work = mean(time_runs(work, timing));
    done = true;
  }
  return {of_work, mean(copies)};
}

}  // namespace

Spread measure_read_rate(const MemoryTrial& trial) {
  const std::vector<unsigned char> one(static_cast<std::size_t>(trial.bytes_per_thread.count), kFilling);
  const std::vector<std::vector<unsigned char>> buffers(static_cast<std::size_t>(trial.threads), one);
  std::atomic<std::size_t> found{0};
  // The library's search for a byte that is not there reads as fast as a core can.
  const auto read = [&](std::size_t t) {
    if (std::memchr(buffers[t].data(), kAbsent, buffers[t].size()) != nullptr) ++found;
  };
  return rate_of(spread_of(time_runs([&] { on_threads(trial.threads, read); }, trial.timing)), all_bytes(trial));
}

Spread measure_copy_rate(const MemoryTrial& trial) {
  std::vector<BufferPair> buffers(static_cast<std::size_t>(trial.threads), BufferPair(trial.bytes_per_thread));
  const auto copy = [&](std::size_t t) { buffers[t].copy(); };
  return rate_of(spread_of(time_runs([&] { on_threads(trial.threads, copy); }, trial.timing)), all_bytes(trial));
}

Spread measure_copy_time(Bytes bytes, Bytes span, const TimingOptions& timing) {
  BufferPair buffers(std::max(bytes, span));
  const auto size = static_cast<std::size_t>(bytes.count);
  std::size_t at = 0;
  const auto copy_next = [&] {
    std::memcpy(buffers.to.data() + at, buffers.from.data() + at, size);
    at = at + 2 * size <= buffers.from.size() ? at + size : 0;
  };
  return spread_of(time_runs(copy_next, timing));
}

PairSlowdown measure_beside_copies(const std::function<void()>& work, const MemoryTrial& copies) {
  BufferPair buffers(copies.bytes_per_thread);
  std::vector<double> of_work, of_copy;
  for (int round = 0; round < kRounds; ++round) {
    const double work_alone = mean(time_runs(work, copies.timing));
    const double copy_alone = mean(time_runs([&] { buffers.copy(); }, copies.timing));
    const auto [work_beside, copy_beside] = times_together(work, buffers, copies.timing);
    of_work.push_back(work_beside / work_alone);
    of_copy.push_back(copy_beside / copy_alone);
  }
  return {.work = std::max(1.0, median(of_work)), .copy = std::max(1.0, median(of_copy))};
}

}  // namespace plimsoll
