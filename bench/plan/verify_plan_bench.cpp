#include <benchmark/benchmark.h>

#include <map>
#include <string>
#include <vector>

#include "core/plan/order_conflicts.h"
#include "core/plan/verify_plan.h"
#include "tests/support/plan_writer.h"

namespace plimsoll {
namespace {

using test::BufferUse;
using test::read;
using test::update;
using test::write;

constexpr std::uint32_t kLayers = 32;
constexpr Bytes kBytes{4096};
constexpr Bytes kHalf{2048};

/// A step like that of an offloaded model, 20 instructions a layer on all eight queues: weights come from files over
/// the host to the device, six kernels forward and six backward over activations, gradients leave, the CPU updates,
/// states go back to files; each micro-batch loads tokens and reports. `slots` is that of the staging buffers.
class OffloadedStep {
 public:
  explicit OffloadedStep(std::uint32_t slots) {
    for (std::uint32_t i = 0; i < kLayers; ++i) {
      file_.push_back(add("file", "ssd", i, 1));
      activation_.push_back(add("activation", "gpu0", i, 1));
      accumulator_.push_back(add("accumulator", "host", i, 1));
    }
    for (std::uint32_t i = 0; i < 4; ++i) {
      fetched_.push_back(add("fetched", "host", i, slots));
      weights_.push_back(add("weights", "gpu0", i, slots));
      gradient_.push_back(add("gradient", "gpu0", i, slots));
      landed_.push_back(add("landed", "host", i, slots));
      work_.push_back(add("work", "gpu0", i, 1));
    }
    tokens_ = add("tokens", "host", 0, slots);
  }

  Plan write_plan(std::uint32_t instructions) {
    for (std::uint32_t layer = 0; out_.body().size() < instructions; ++layer) write_layer(layer);
    order_conflicts(out_.plan(), out_.body());
    return out_.finish(kPerLayer);
  }

 private:
  static constexpr std::uint32_t kPerLayer = 20;

  BufferId add(const std::string& name, const char* space, std::uint32_t index, std::uint32_t slots) {
    Bytes& next = next_[space];
    const BufferId id = out_.buffer(name + std::to_string(index), space, next, kBytes, slots);
    next = align_up(next + out_.plan().at(id).extent(), kBufferAlignment);
    return id;
  }

  /// Half of a buffer, as one parameter is a part of its group.
  static BufferUse half(BufferId buffer, bool upper, Access access = Access::kRead) {
    return {buffer, access, upper ? kHalf : Bytes(0), kHalf};
  }

  void kernel(OpKind kind, Phase phase, const std::vector<BufferUse>& uses) {
    out_.launch("compute", kind, phase, uses);
  }

  void write_layer(std::uint32_t layer) {
    const std::uint32_t i = layer % kLayers, r = layer % 4;
    const BufferId x = activation_[i], y = activation_[(i + 1) % kLayers], w = weights_[r], g = gradient_[r];
    out_.host_work(HostTask::kLoadTokens, {write(tokens_)});
    out_.copy(InstructionKind::kRead, "ssd.read", read(file_[i]), write(fetched_[r]));
    out_.copy(InstructionKind::kCopy, "h2d", read(fetched_[r]), write(w));
    for (const bool upper : {false, true}) {
      const BufferId a = work_[upper ? 1 : 0], b = work_[upper ? 2 : 3];
      kernel(OpKind::kLinear, Phase::kForward, {read(x), half(w, upper), write(a)});
      kernel(OpKind::kActivation, Phase::kForward, {read(a), write(b)});
      kernel(OpKind::kAdd, Phase::kForward, {read(a), read(b), write(y)});
    }
    for (const bool upper : {false, true}) {
      const BufferId a = work_[upper ? 1 : 0], b = work_[upper ? 2 : 3];
      kernel(OpKind::kActivationBackward, Phase::kBackward, {read(a), read(y), write(b)});
      kernel(OpKind::kLinearBackwardInput, Phase::kBackward, {read(b), half(w, upper), write(a)});
      kernel(OpKind::kLinearBackwardWeight, Phase::kBackward, {read(b), read(x), half(g, upper, Access::kWrite)});
    }
    out_.copy(InstructionKind::kCopy, "d2h", read(g), write(landed_[r]));
    out_.launch("cpu", OpKind::kAccumulate, Phase::kBackward, {read(landed_[r]), update(accumulator_[i])});
    out_.copy(InstructionKind::kWrite, "ssd.write", read(accumulator_[i]), write(file_[i]));
    out_.host_work(HostTask::kReportLoss, {read(accumulator_[i])});
    out_.marker("cpu");
  }

  test::PlanWriter out_;
  std::map<std::string, Bytes> next_;
  std::vector<BufferId> file_, activation_, accumulator_, fetched_, weights_, gradient_, landed_, work_;
  BufferId tokens_;
};

Plan plan_for(const benchmark::State& state) {
  return OffloadedStep(static_cast<std::uint32_t>(state.range(1)))
      .write_plan(static_cast<std::uint32_t>(state.range(0)));
}

void count(benchmark::State& state, const Plan& plan) {
  const auto instructions = static_cast<double>(instruction_count(plan, plan.bodies[0]));
  state.counters["instructions"] = instructions;
  state.counters["calls"] = static_cast<double>(plan.bodies[0].calls.size());
}

void verify(benchmark::State& state) {
  const Plan plan = plan_for(state);
  for (auto _ : state) {
    const auto verdict = verify_plan(plan);
    if (!verdict) return state.SkipWithError(verdict.error().text().c_str());
    state.counters["copies"] = verdict->expanded_bodies;
  }
  count(state, plan);
}

void expand_body(benchmark::State& state) {
  const Plan plan = plan_for(state);
  for (auto _ : state) benchmark::DoNotOptimize(expand(plan, plan.bodies[0]));
  count(state, plan);
}

void order_body(benchmark::State& state) {
  const Plan plan = plan_for(state);
  FlatBody bare = expand(plan, plan.bodies[0]);
  for (Instruction& instruction : bare.list.instructions)
    instruction.first_dependency = instruction.dependency_count = 0;
  for (auto _ : state) {
    FlatBody body = bare;
    order_conflicts(plan, body);
    benchmark::DoNotOptimize(body);
  }
  count(state, plan);
}

void sizes(benchmark::internal::Benchmark* bench) {
  bench->Unit(benchmark::kMillisecond)->ArgNames({"instructions", "slots"});
  for (const int instructions : {1000, 10000, 100000, 1000000}) bench->Args({instructions, 1});
  bench->Args({100000, 2});
}

BENCHMARK(verify)->Apply(sizes);
BENCHMARK(expand_body)->Apply(sizes);
BENCHMARK(order_body)
    ->Unit(benchmark::kMillisecond)
    ->ArgNames({"instructions", "slots"})
    ->Args({100000, 1})
    ->Args({100000, 2});

}  // namespace
}  // namespace plimsoll
