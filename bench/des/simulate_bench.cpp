#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>

#include "core/plan/expand.h"
#include "sim/des/simulate.h"

namespace plimsoll {
namespace {

/// Costs that take no time to look up, so that the engine is what is timed.
class ConstantCosts : public CostModel {
 public:
  [[nodiscard]] Result<Cost> kernel(const Processor&, const Kernel& kernel) const override {
    return Cost{.median = Nanoseconds(kernel.shape.rows)};
  }
  [[nodiscard]] Result<Cost> transfer(const Platform&, const Link& link, Bytes bytes) const override {
    return Cost{.median = link.latency + Nanoseconds(bytes.count)};
  }
  [[nodiscard]] Result<Cost> host_work(const Processor&, HostTask, Bytes bytes) const override {
    return Cost{.median = Nanoseconds(bytes.count)};
  }
  [[nodiscard]] Nanoseconds issue_overhead(const Platform&, QueueKind) const override { return Nanoseconds(5); }
  [[nodiscard]] std::string source() const override { return "constant"; }
};

constexpr std::uint32_t kQueues = 8;
constexpr std::uint32_t kBuffers = 64;

/// Six compute queues and two copy queues that share one uplink and, with `contended`, everything shares host DRAM as
/// well.
Platform eight_queues(bool contended) {
  Platform platform;
  platform.spaces = {{.name = "gpu0"}, {.name = "host", .kind = SpaceKind::kHost}};
  platform.processors = {{.name = "gpu", .space = SpaceId(0)}};
  platform.resources = {{"uplink", 1e9}, {"dram", 4.0}};
  platform.links = {{"up", SpaceId(0), SpaceId(1), 1e9, Nanoseconds(10), {{ResourceId(0)}}},
                    {"down", SpaceId(1), SpaceId(0), 1e9, Nanoseconds(10), {{ResourceId(0)}}}};
  for (std::uint32_t q = 0; q < kQueues; ++q) {
    Queue queue{.name = "q", .kind = q < 6 ? QueueKind::kCompute : QueueKind::kCopy, .processor = ProcessorId(0)};
    if (contended) queue.demands = {{ResourceId(1), 1.0}};
    platform.queues.push_back(queue);
  }
  return platform;
}

/// One instruction: a kernel on queues 0 to 5, else a copy; two dependencies on recent instructions of other queues.
void add_instruction(InstructionList& list, std::uint32_t id, std::mt19937& random) {
  const auto draw = [&random](std::uint32_t limit) { return static_cast<std::uint32_t>(random() % limit); };
  const std::uint32_t queue = draw(kQueues);
  Instruction instruction{.kind = queue < 6 ? InstructionKind::kLaunch : InstructionKind::kCopy,
                          .queue = QueueId(queue),
                          .kernel = KernelId(draw(40)),
                          .first_use = static_cast<std::uint32_t>(list.uses.size()),
                          .use_count = 2,
                          .first_dependency = static_cast<std::uint32_t>(list.dependencies.size()),
                          .dependency_count = id > 0 ? 2u : 0u};
  for (std::uint32_t i = 0; i < instruction.dependency_count; ++i) {
    list.dependencies.push_back({.target = id - 1 - draw(std::min(id, 32u))});
  }
  const Bytes bytes(100 + 50 * draw(8));
  list.uses.push_back({.target = 2 * draw(kBuffers / 2), .bytes = bytes});
  list.uses.push_back({.target = 2 * draw(kBuffers / 2) + 1, .access = Access::kWrite, .bytes = bytes});
  list.instructions.push_back(instruction);
}

Plan make_plan(std::uint32_t instructions, bool contended) {
  std::mt19937 random(1);
  Plan plan;
  plan.platform = eight_queues(contended);
  for (std::int64_t k = 0; k < 40; ++k) plan.kernels.push_back({.shape = {.rows = 50 + 7 * k}});
  for (std::uint32_t b = 0; b < kBuffers; ++b) plan.buffers.push_back({.space = SpaceId(b % 2), .bytes = Bytes(500)});
  plan.arenas = {{SpaceId(0), Bytes(1 << 20)}, {SpaceId(1), Bytes(1 << 20)}};
  plan.blocks.resize(1);
  plan.blocks[0].slot_count = kBuffers;
  for (std::uint32_t id = 0; id < instructions; ++id) add_instruction(plan.blocks[0].list, id, random);
  Call call{.block = BlockId(0)};
  for (std::uint32_t b = 0; b < kBuffers; ++b) call.bindings.push_back({BufferId(b)});
  plan.bodies = {{.name = "step", .calls = {call}}};
  return plan;
}

/// One step of `range` instructions on eight queues, expansion and memory ledger included. One item is one instruction.
void simulate_step(benchmark::State& state, bool contended, bool keep_events) {
  const auto instructions = static_cast<std::uint32_t>(state.range(0));
  const Plan plan = make_plan(instructions, contended);
  const ConstantCosts costs;
  for (auto _ : state) {
    const Result<Trace> trace = simulate(plan, "step", costs, {.steps = 1, .keep_events = keep_events});
    benchmark::DoNotOptimize(trace->steps.data());
  }
  state.SetItemsProcessed(state.iterations() * instructions);
}
BENCHMARK_CAPTURE(simulate_step, summaries_only, false, false)
    ->RangeMultiplier(10)
    ->Range(1000, 1'000'000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_step, with_events, false, true)
    ->RangeMultiplier(10)
    ->Range(1000, 1'000'000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_step, all_contended, true, true)
    ->RangeMultiplier(10)
    ->Range(1000, 1'000'000)
    ->Unit(benchmark::kMillisecond);

/// The part of it that writes the folded body out.
void expand_step(benchmark::State& state) {
  const Plan plan = make_plan(static_cast<std::uint32_t>(state.range(0)), false);
  for (auto _ : state) benchmark::DoNotOptimize(expand(plan, plan.bodies[0]).size());
}
BENCHMARK(expand_step)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace plimsoll
