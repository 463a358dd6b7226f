#include <benchmark/benchmark.h>

#include <random>

#include "sim/planner/chains/chain_curve.h"

namespace plimsoll {
namespace {

/// Blocks like those of a transformer with two ways each, keeping everything or only the input; where `kinds` is more
/// than 1, blocks differ by up to half of their size, in so many ways.
BlockChain chain_of(std::size_t blocks, unsigned kinds) {
  std::mt19937 random(1);
  BlockChain chain{.output = Bytes(4), .blocks = {}};
  constexpr Bytes kInput{16 * kMiB.count};
  for (std::size_t i = 0; i < blocks; ++i) {
    const double scale = 1 + 0.5 * static_cast<double>(random() % kinds) / kinds;
    const auto sized = [&](double share) {
      return Bytes(static_cast<std::int64_t>(share * scale * static_cast<double>(kInput.count)));
    };
    const ChainOption everything{.forward_seconds = 0.01 * scale,
                                 .backward_seconds = 0.02 * scale,
                                 .saved = sized(17),
                                 .backward_temporary = sized(2)};
    ChainOption half = everything;
    half.saved = sized(9);
    half.backward_seconds *= 1.15;
    chain.blocks.push_back({.input = kInput,
                            .forward_only_seconds = 0.01 * scale,
                            .forward_only_temporary = sized(2),
                            .options = {everything, half}});
  }
  return chain;
}

/// The table of all budgets, and the least time of 1,000 of them.
void thousand_budgets(benchmark::State& state) {
  const BlockChain chain = chain_of(static_cast<std::size_t>(state.range(0)), static_cast<unsigned>(state.range(1)));
  for (auto _ : state) {
    const ChainCurve curve(chain);
    const Bytes least = curve.steps().front().bytes, most = curve.steps().back().bytes;
    double seconds = 0;
    for (std::int64_t i = 0; i < 1000; ++i) {
      seconds += step_at(curve.steps(), least + Bytes((most - least).count / 999 * i))->seconds;
    }
    benchmark::DoNotOptimize(seconds);
    state.counters["steps"] = static_cast<double>(curve.steps().size());
    state.counters["exact"] = curve.exact() ? 1 : 0;
  }
}

/// The same with each budget's schedule.
void thousand_schedules(benchmark::State& state) {
  const BlockChain chain = chain_of(static_cast<std::size_t>(state.range(0)), static_cast<unsigned>(state.range(1)));
  for (auto _ : state) {
    const ChainCurve curve(chain);
    const Bytes least = curve.steps().front().bytes, most = curve.steps().back().bytes;
    for (std::int64_t i = 0; i < 1000; ++i) {
      benchmark::DoNotOptimize(curve.schedule(least + Bytes((most - least).count / 999 * i)));
    }
  }
}

void sizes(benchmark::internal::Benchmark* bench) {
  bench->Unit(benchmark::kMillisecond)->ArgNames({"blocks", "kinds"});
  bench->Args({30, 1})->Args({30, 1000})->Args({100, 1})->Args({100, 8})->Args({100, 1000});
}

BENCHMARK(thousand_budgets)->Apply(sizes)->UseRealTime();
BENCHMARK(thousand_schedules)->Apply(sizes)->UseRealTime();

}  // namespace
}  // namespace plimsoll
