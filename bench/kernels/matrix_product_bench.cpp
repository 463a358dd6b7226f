#include <benchmark/benchmark.h>

#include <vector>

#include "executor/kernels/matrix_product.h"
#include "executor/kernels/worker_pool.h"

// Products of a GPT-2 124M layer and head for 1024 tokens: arguments are rows, columns, depth, workers.
namespace plimsoll {
namespace {

/// 0.5 as each type stores it.
constexpr float half_in(float) { return 0.5F; }
constexpr Bf16 half_in(Bf16) { return {0x3f00}; }
constexpr Fp16 half_in(Fp16) { return {0x3800}; }

template <MatmulLibrary library, bool a_transposed, bool b_transposed, typename S = float>
void tiled(benchmark::State& state) {
  const std::int64_t rows = state.range(0), columns = state.range(1), depth = state.range(2);
  std::vector<S> a(static_cast<std::size_t>(rows * depth), half_in(S{}));
  std::vector<S> b(static_cast<std::size_t>(depth * columns), half_in(S{}));
  std::vector<S> c(static_cast<std::size_t>(rows * columns));
  WorkerPool pool(state.range(3));
  const MatrixProduct product(library);
  const Product<S> p{.rows = rows,
                         .columns = columns,
                         .depth = depth,
                         .a = {a.data(), a_transposed ? rows : depth, a_transposed},
                         .b = {b.data(), b_transposed ? depth : columns, b_transposed},
                         .c = c.data(),
                         .c_stride = columns};
  for (auto _ : state) tiled_product(pool, product, p);
  state.counters["GFLOP/s"] = benchmark::Counter(2e-9 * static_cast<double>(rows * columns * depth),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}

void forward(benchmark::internal::Benchmark* b) {
  for (const std::int64_t workers : {1, 2}) {
    for (const std::int64_t outputs : {768, 2304, 3072, 50257}) b->Args({1024, outputs, 768, workers});
    b->Args({1024, 768, 3072, workers});
  }
}

void backward_input(benchmark::internal::Benchmark* b) {
  for (const std::int64_t workers : {1, 2}) {
    for (const std::int64_t outputs : {768, 2304, 50257}) b->Args({1024, 768, outputs, workers});
  }
}

void backward_weight(benchmark::internal::Benchmark* b) {
  for (const std::int64_t workers : {1, 2}) {
    for (const std::int64_t outputs : {768, 3072, 50257}) b->Args({outputs, 768, 1024, workers});
  }
}

void halves(benchmark::internal::Benchmark* b) {
  for (const std::int64_t workers : {1, 2}) {
    for (const std::int64_t outputs : {768, 3072}) b->Args({1024, outputs, 768, workers});
  }
}

/// One call of the library for the whole product on one core: what tiling costs is the difference to it.
template <MatmulLibrary library>
void untiled(benchmark::State& state) {
  std::vector<float> a(1024 * 768, 0.5F), b(3072 * 768, 0.25F), c(1024 * 3072);
  const MatrixProduct product(library);
  const Product<float> p{.rows = 1024,
                         .columns = 3072,
                         .depth = 768,
                         .a = {a.data(), 768, false},
                         .b = {b.data(), 768, true},
                         .c = c.data(),
                         .c_stride = 3072};
  for (auto _ : state) product.multiply(p);
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * 1024 * 3072 * 768, benchmark::Counter::kIsIterationInvariantRate);
}

constexpr auto kDnnl = MatmulLibrary::kOneDnn;
constexpr auto kBlas = MatmulLibrary::kOpenBlas;
BENCHMARK(untiled<kDnnl>)->Name("onednn untiled 1024/3072/768")->UseRealTime()->MinTime(0.2);
BENCHMARK(untiled<kBlas>)->Name("openblas untiled 1024/3072/768")->UseRealTime()->MinTime(0.2);
BENCHMARK(tiled<kDnnl, false, true>)->Name("onednn forward")->Apply(forward)->UseRealTime()->MinTime(0.2);
BENCHMARK(tiled<kBlas, false, true>)->Name("openblas forward")->Apply(forward)->UseRealTime()->MinTime(0.2);
BENCHMARK(tiled<kDnnl, false, true, Bf16>)->Name("onednn forward, bf16")->Apply(halves)->UseRealTime()->MinTime(0.2);
BENCHMARK(tiled<kBlas, false, true, Bf16>)->Name("openblas forward, bf16")->Apply(halves)->UseRealTime()->MinTime(0.2);
BENCHMARK(tiled<kDnnl, false, true, Fp16>)->Name("onednn forward, fp16")->Apply(halves)->UseRealTime()->MinTime(0.2);
BENCHMARK(tiled<kBlas, false, true, Fp16>)->Name("openblas forward, fp16")->Apply(halves)->UseRealTime()->MinTime(0.2);
BENCHMARK(tiled<kDnnl, false, false>)
    ->Name("onednn backward input")
    ->Apply(backward_input)
    ->UseRealTime()
    ->MinTime(0.2);
BENCHMARK(tiled<kBlas, false, false>)
    ->Name("openblas backward input")
    ->Apply(backward_input)
    ->UseRealTime()
    ->MinTime(0.2);
BENCHMARK(tiled<kDnnl, true, false>)
    ->Name("onednn backward weight")
    ->Apply(backward_weight)
    ->UseRealTime()
    ->MinTime(0.2);
BENCHMARK(tiled<kBlas, true, false>)
    ->Name("openblas backward weight")
    ->Apply(backward_weight)
    ->UseRealTime()
    ->MinTime(0.2);

}  // namespace
}  // namespace plimsoll
