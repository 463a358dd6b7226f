#include <benchmark/benchmark.h>

#include <algorithm>
#include <list>
#include <vector>

#include "executor/cpu/arena.h"
#include "executor/cuda/host_twins.h"
#include "executor/kernels/worker_pool.h"

// What the host does for a device: updates and norms of a GPT-2 1.5B layer in bf16, the optimizer's weights and moments in fp32,
// beside the CPU backend's kernels on the same operands. The last argument is the workers.
namespace plimsoll {
namespace {

constexpr std::int64_t kElements = 30'740'800;

using Launch = bool (*)(const Kernel&, std::span<const OperandView>, const LaunchContext&);

bool as_on_device(const Kernel& kernel, std::span<const OperandView> operands, const LaunchContext& context) {
  return launch_as_on_device(kernel, operands, context);
}

bool as_on_cpu(const Kernel& kernel, std::span<const OperandView> operands, const LaunchContext& context) {
  launch(kernel, operands, context);
  return true;
}

/// Operands in arenas, as a plan's are: fp32 ones hold 0.01, those of two bytes nearly so.
class Operands {
 public:
  template <typename T>
  void add(std::int64_t elements, T value, Access access) {
    const Bytes bytes(elements * static_cast<std::int64_t>(sizeof(T)));
    HostArena& arena = memory_.emplace_back(bytes);
    std::fill_n(reinterpret_cast<T*>(arena.data()), elements, value);
    views_.push_back({.data = arena.data(), .bytes = bytes, .access = access});
  }
  void add_bf16(Access access) { add<std::uint16_t>(kElements, 0x3c24, access); }
  void add_fp32(Access access) { add<float>(kElements, 0.01F, access); }

  [[nodiscard]] std::span<const OperandView> views() const { return views_; }

 private:
  std::list<HostArena> memory_;
  std::vector<OperandView> views_;
};

void repeat(benchmark::State& state, OpKind kind, const Operands& operands, Launch run, int bytes_of_element) {
  WorkerPool pool(state.range(0));
  const Recipe recipe{.sequence = 1};
  const OpShape shape{.rows = kElements, .inputs = kElements - 9984};  // biases and norms do not decay
  for (auto _ : state) {
    if (!run({.kind = kind, .dtype = DType::kBf16, .shape = shape}, operands.views(), {.pool = &pool, .recipe = &recipe, .step = 10}))
      state.SkipWithError("no such kernel");
  }
  state.counters["GB/s"] = benchmark::Counter(1e-9 * static_cast<double>(bytes_of_element * kElements),
                                              benchmark::Counter::kIsIterationInvariantRate);
}

/// 28 bytes an element: a gradient read, weights and moments read and written, weights published.
void adamw_for_device(benchmark::State& state, Launch run) {
  Operands operands;
  for (int i = 0; i < 3; ++i) operands.add_fp32(Access::kReadWrite);
  operands.add_bf16(Access::kRead);
  operands.add_bf16(Access::kWrite);
  repeat(state, OpKind::kAdamW, operands, run, 28);
}
BENCHMARK_CAPTURE(adamw_for_device, host twin, as_on_device)->Arg(1)->Arg(2)->Arg(16)->UseRealTime();
BENCHMARK_CAPTURE(adamw_for_device, cpu backend, as_on_cpu)->Arg(1)->Arg(2)->Arg(16)->UseRealTime();

/// The same from version to version, as plans that update in the backward pass have it.
void adamw_to_another_version(benchmark::State& state, Launch run) {
  Operands operands;
  for (int i = 0; i < 3; ++i) operands.add_fp32(Access::kRead);
  operands.add_bf16(Access::kRead);
  for (int i = 0; i < 3; ++i) operands.add_fp32(Access::kWrite);
  operands.add_bf16(Access::kWrite);
  repeat(state, OpKind::kAdamW, operands, run, 28);
}
BENCHMARK_CAPTURE(adamw_to_another_version, host twin, as_on_device)->Arg(1)->Arg(2)->Arg(16)->UseRealTime();
BENCHMARK_CAPTURE(adamw_to_another_version, cpu backend, as_on_cpu)->Arg(1)->Arg(2)->Arg(16)->UseRealTime();

/// 14 bytes an element: weights and moments of two bytes, as pure bf16 has them.
void adamw_in_bf16(benchmark::State& state, Launch run) {
  Operands operands;
  for (int i = 0; i < 3; ++i) operands.add_bf16(Access::kReadWrite);
  operands.add_bf16(Access::kRead);
  repeat(state, OpKind::kAdamW, operands, run, 14);
}
BENCHMARK_CAPTURE(adamw_in_bf16, host twin, as_on_device)->Arg(1)->Arg(2)->Arg(16)->UseRealTime();
BENCHMARK_CAPTURE(adamw_in_bf16, cpu backend, as_on_cpu)->Arg(1)->Arg(2)->Arg(16)->UseRealTime();

void squared_norm_for_device(benchmark::State& state, Launch run) {
  Operands operands;
  operands.add_bf16(Access::kRead);
  operands.add<double>(1, 0, Access::kWrite);
  repeat(state, OpKind::kSquaredNorm, operands, run, 2);
}
BENCHMARK_CAPTURE(squared_norm_for_device, host twin, as_on_device)->Arg(1)->Arg(2)->Arg(16)->UseRealTime();
BENCHMARK_CAPTURE(squared_norm_for_device, cpu backend, as_on_cpu)->Arg(1)->Arg(2)->Arg(16)->UseRealTime();

}  // namespace
}  // namespace plimsoll
