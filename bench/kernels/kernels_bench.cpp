#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "core/graph/op_work.h"
#include "core/model/model_spec.h"
#include "executor/kernels/launch.h"
#include "executor/kernels/loops.h"
#include "executor/kernels/matrix_product.h"
#include "executor/kernels/worker_pool.h"

// Kernels of a GPT-2 124M block for 1024 tokens (one sequence, or eight of 128), fp32; the last argument is the
// workers.
namespace plimsoll {
namespace {

struct BenchOperand {
  std::int64_t elements;
  Access access;
};
constexpr Access kR = Access::kRead;
constexpr Access kW = Access::kWrite;
constexpr Access kRw = Access::kReadWrite;

/// Launches one kernel over and over; fp32 operands hold 0.01, which is token 1009483776 as an integer: kernels with
/// tokens set `tokens` to the operand to be zeroed.
void repeat(benchmark::State& state, OpKind kind, const OpShape& shape, const std::vector<BenchOperand>& operands,
            std::int64_t workers, std::size_t tokens = SIZE_MAX) {
  std::vector<std::vector<float>> memory;
  std::vector<OperandView> views;
  for (const BenchOperand& operand : operands) {
    const float value = memory.size() == tokens ? 0.0F : 0.01F;
    memory.emplace_back(static_cast<std::size_t>(operand.elements), value);
    views.push_back({.data = reinterpret_cast<std::byte*>(memory.back().data()),
                     .bytes = Bytes(4 * operand.elements),
                     .access = operand.access});
  }
  WorkerPool pool(workers);
  const MatrixProduct product(MatmulLibrary::kOneDnn);
  const Recipe recipe{.sequence = 1};
  for (auto _ : state) {
    launch({.kind = kind, .dtype = DType::kFp32, .shape = shape}, views,
           {.pool = &pool, .product = &product, .recipe = &recipe, .step = 10});
  }
  state.counters["GFLOP/s"] =
      benchmark::Counter(1e-9 * flops_of(kind, shape), benchmark::Counter::kIsIterationInvariantRate);
  state.counters["GB/s"] = benchmark::Counter(1e-9 * static_cast<double>(traffic_of(kind, shape, DType::kFp32).count),
                                              benchmark::Counter::kIsIterationInvariantRate);
}

OpShape attention_shape(std::int64_t sequence) {
  return {.rows = 1024, .sequence = sequence, .heads = 12, .kv_heads = 12, .head_dim = 64};
}

void attention(benchmark::State& state) {
  const OpShape s = attention_shape(state.range(0));
  const std::int64_t scratch = workspace_of(OpKind::kAttention, s, DType::kFp32, state.range(1)).count / 4;
  repeat(state, OpKind::kAttention, s, {{1024 * 2304, kR}, {1024 * 768, kW}, {1024 * 12, kW}, {scratch, kW}},
         state.range(1));
}
BENCHMARK(attention)->ArgsProduct({{128, 1024}, {1, 2}})->UseRealTime();

void attention_backward(benchmark::State& state) {
  const OpShape s = attention_shape(state.range(0));
  const std::int64_t scratch = workspace_of(OpKind::kAttentionBackward, s, DType::kFp32, state.range(1)).count / 4;
  repeat(state, OpKind::kAttentionBackward, s,
         {{1024 * 2304, kR}, {1024 * 768, kR}, {1024 * 12, kR}, {1024 * 768, kR}, {1024 * 2304, kW}, {scratch, kW}},
         state.range(1));
}
BENCHMARK(attention_backward)->ArgsProduct({{128, 1024}, {1, 2}})->UseRealTime();

void cross_entropy(benchmark::State& state) {
  const OpShape s{.rows = 1024, .outputs = 50257, .sequence = 1024};
  repeat(state, OpKind::kCrossEntropy, s, {{s.rows * s.outputs, kRw}, {1025, kR}, {2, kW}}, state.range(0), 1);
}
BENCHMARK(cross_entropy)->Arg(1)->Arg(2)->UseRealTime();

void layer_norm(benchmark::State& state) {
  const OpShape s{.rows = 1024, .inputs = 768, .constant = 1e-5};
  repeat(state, OpKind::kNorm, s, {{1024 * 768, kR}, {768, kR}, {768, kR}, {1024 * 768, kW}, {2048, kW}},
         state.range(0));
}
BENCHMARK(layer_norm)->Arg(1)->Arg(2)->UseRealTime();

void layer_norm_backward(benchmark::State& state) {
  const OpShape s{.rows = 1024, .inputs = 768};
  repeat(state, OpKind::kNormBackward, s,
         {{1024 * 768, kR},
          {1024 * 768, kR},
          {768, kR},
          {2048, kR},
          {1024 * 768, kRw},
          {768, kW},
          {768, kW},
          {16 * 2 * 768, kW}},
         state.range(0));
}
BENCHMARK(layer_norm_backward)->Arg(1)->Arg(2)->UseRealTime();

void activation(benchmark::State& state) {
  const OpShape s{.rows = 1024, .inputs = 3072, .outputs = 3072, .variant = static_cast<std::uint8_t>(state.range(0))};
  repeat(state, OpKind::kActivation, s, {{1024 * 3072, kR}, {1024 * 3072, kW}}, state.range(1));
}
BENCHMARK(activation)->ArgsProduct({{0, 1}, {1, 2}})->UseRealTime();

void activation_backward(benchmark::State& state) {
  const OpShape s{.rows = 1024, .inputs = 3072, .outputs = 3072, .variant = static_cast<std::uint8_t>(state.range(0))};
  repeat(state, OpKind::kActivationBackward, s, {{1024 * 3072, kR}, {1024 * 3072, kR}, {1024 * 3072, kW}},
         state.range(1));
}
BENCHMARK(activation_backward)->ArgsProduct({{0, 1}, {1, 2}})->UseRealTime();

void bias_gradient_and_weight(benchmark::State& state) {
  const OpShape s{.rows = 1024, .inputs = 768, .outputs = 3072};
  repeat(state, OpKind::kLinearBackwardWeight, s, {{1024 * 3072, kR}, {1024 * 768, kR}, {3072 * 768, kW}, {3072, kW}},
         state.range(0));
}
BENCHMARK(bias_gradient_and_weight)->Arg(1)->Arg(2)->UseRealTime();

void embedding_backward(benchmark::State& state) {
  const OpShape s{.rows = 1024, .inputs = 768, .outputs = 50257, .sequence = 1024, .positions = 1024};
  repeat(state, OpKind::kEmbeddingBackward, s, {{1025, kR}, {1024 * 768, kR}, {50257 * 768, kRw}, {1024 * 768, kW}},
         state.range(0), 0);
}
BENCHMARK(embedding_backward)->Arg(1)->Arg(2)->UseRealTime();

// 40 million elements: 160 MB an operand, far beyond the caches.
constexpr std::int64_t kParameters = 40'000'000;

void adamw(benchmark::State& state) {
  const OpShape s{.rows = kParameters, .inputs = kParameters};
  repeat(state, OpKind::kAdamW, s, {{kParameters, kRw}, {kParameters, kRw}, {kParameters, kRw}, {kParameters, kR}},
         state.range(0));
}
BENCHMARK(adamw)->Arg(1)->Arg(2)->UseRealTime();

void squared_norm(benchmark::State& state) {
  repeat(state, OpKind::kSquaredNorm, {.rows = kParameters}, {{kParameters, kR}, {2, kW}}, state.range(0));
}
BENCHMARK(squared_norm)->Arg(1)->Arg(2)->UseRealTime();

/// What the memory gives: bytes read and bytes written by memcpy in pieces of 1 MiB.
void copy(benchmark::State& state) {
  std::vector<float> from(static_cast<std::size_t>(kParameters), 1.0F), to(from);
  WorkerPool pool(state.range(0));
  constexpr std::int64_t kPiece = 1 << 18;
  for (auto _ : state) {
    pool.run(kParameters / kPiece, [&](std::int64_t task, std::int64_t) {
      std::memcpy(to.data() + task * kPiece, from.data() + task * kPiece, kPiece * sizeof(float));
    });
    benchmark::ClobberMemory();
  }
  state.counters["GB/s"] = benchmark::Counter(8e-9 * static_cast<double>(kParameters / kPiece * kPiece),
                                              benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(copy)->Arg(1)->Arg(2)->UseRealTime();

/// What the memory gives to AdamW's bytes: the same seven streams (gradient, weight and both moments read, all but the
/// gradient written; 28 bytes a parameter) with next to no arithmetic, in pieces that stay in a first-level cache.
void update_streams(benchmark::State& state) {
  std::vector<float> gradient(static_cast<std::size_t>(kParameters), 0.0F), weight(gradient), m(gradient), v(gradient);
  WorkerPool pool(state.range(0));
  const Loops<float>& loop = loops<float>();
  constexpr std::int64_t kTask = 1 << 16, kPiece = 1 << 10;
  for (auto _ : state) {
    pool.run(kParameters / kTask, [&](std::int64_t task, std::int64_t) {
      for (std::int64_t at = task * kTask; at < (task + 1) * kTask; at += kPiece) {
        loop.add_to(kPiece, gradient.data() + at, weight.data() + at);
        loop.scale(kPiece, 0.5F, m.data() + at);
        loop.scale(kPiece, 0.5F, v.data() + at);
      }
    });
    benchmark::ClobberMemory();
  }
  state.counters["GB/s"] = benchmark::Counter(28e-9 * static_cast<double>(kParameters / kTask * kTask),
                                              benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(update_streams)->Arg(1)->Arg(2)->UseRealTime();

/// What an empty kernel costs: waking the workers and waiting for them.
void dispatch(benchmark::State& state) {
  WorkerPool pool(state.range(0));
  for (auto _ : state) pool.run(state.range(0), [](std::int64_t, std::int64_t) {});
}
BENCHMARK(dispatch)->Arg(1)->Arg(2)->UseRealTime();

}  // namespace
}  // namespace plimsoll
