#include <benchmark/benchmark.h>

#include <random>

#include "sim/planner/chains/chain_curve.h"
#include "sim/planner/chains/offload_chain.h"

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

Bytes budget(const ChainCurve& curve, std::int64_t i) {
  const Bytes least = curve.steps().front().bytes, most = curve.steps().back().bytes;
  return least + Bytes((most - least).count / 999 * i);
}

/// How far the least times of 1,000 budgets are above a bound at the most, in parts.
double widest_gap(const BlockChain& chain) {
  const ChainCurve above(chain), below(chain, {.way = Thinning::kBelow});
  double gap = 0;
  for (std::int64_t i = 0; i < 1000; ++i) {
    const Bytes bytes = budget(above, i);
    gap = std::max(gap, step_at(above.steps(), bytes)->seconds / step_at(below.steps(), bytes)->seconds - 1);
  }
  return gap;
}

/// The table of all budgets, and the least time of 1,000 of them.
void thousand_budgets(benchmark::State& state) {
  const BlockChain chain = chain_of(static_cast<std::size_t>(state.range(0)), static_cast<unsigned>(state.range(1)));
  for (auto _ : state) {
    const ChainCurve curve(chain);
    double seconds = 0;
    for (std::int64_t i = 0; i < 1000; ++i) seconds += step_at(curve.steps(), budget(curve, i))->seconds;
    benchmark::DoNotOptimize(seconds);
    state.counters["steps"] = static_cast<double>(curve.steps().size());
    state.counters["exact"] = curve.exact() ? 1 : 0;
  }
  state.counters["gap"] = widest_gap(chain);
}

/// The same with each budget's schedule.
void thousand_schedules(benchmark::State& state) {
  const BlockChain chain = chain_of(static_cast<std::size_t>(state.range(0)), static_cast<unsigned>(state.range(1)));
  for (auto _ : state) {
    const ChainCurve curve(chain);
    for (std::int64_t i = 0; i < 1000; ++i) benchmark::DoNotOptimize(curve.schedule(budget(curve, i)));
  }
}

/// Keeping, computing again and sending over a link of 2 GB/s chosen together, at a third of the way from the least memory to
/// all; `faster`: than without the link.
void with_a_link(benchmark::State& state) {
  const BlockChain chain = chain_of(static_cast<std::size_t>(state.range(0)), static_cast<unsigned>(state.range(1)));
  const ChainCurve curve(chain);
  const Bytes bytes = budget(curve, 333);
  for (auto _ : state) {
    const auto plan = offload_chain(chain, curve, {2e9, Bytes(std::int64_t{1} << 50)}, bytes);
    state.counters["faster"] = step_at(curve.steps(), bytes)->seconds / plan->replay.seconds - 1;
    state.counters["exact"] = plan->exact ? 1 : 0;
  }
}

void sizes(benchmark::internal::Benchmark* bench) {
  bench->Unit(benchmark::kMillisecond)->ArgNames({"blocks", "kinds"});
  bench->Args({30, 1})->Args({30, 1000})->Args({100, 1})->Args({100, 8})->Args({100, 1000});
}

BENCHMARK(thousand_budgets)->Apply(sizes)->UseRealTime();
BENCHMARK(thousand_schedules)->Apply(sizes)->UseRealTime();
BENCHMARK(with_a_link)->Apply(sizes)->UseRealTime();

}  // namespace
}  // namespace plimsoll
