#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <vector>

#include "sim/des/event_queue.h"

namespace plimsoll {
namespace {

/// The hold model: with `range` events pending, pop the earliest and push one at a later time. One item is one event.
void hold(benchmark::State& state) {
  std::mt19937_64 random(1);
  std::vector<std::int64_t> gaps(1 << 16);
  for (std::int64_t& gap : gaps) gap = static_cast<std::int64_t>(random() % 1'000'000);

  EventQueue queue;
  const auto pending = static_cast<std::uint64_t>(state.range(0));
  queue.reserve(pending);
  for (std::uint64_t id = 0; id < pending; ++id) queue.push({gaps[id % gaps.size()], id});

  std::size_t draw = 0;
  for (auto _ : state) {
    PendingEvent event = queue.pop();
    event.time += gaps[draw++ % gaps.size()];
    queue.push(event);
  }
  benchmark::DoNotOptimize(queue.top());
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(hold)->Arg(8)->Arg(100)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Arg(1'000'000);

}  // namespace
}  // namespace plimsoll
