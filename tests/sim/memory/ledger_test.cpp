#include "sim/memory/ledger.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "core/plan/expand.h"
#include "sim/des/simulate.h"
#include "tests/core/trace/random_tiny_plan.h"
#include "tests/sim/des/fixed_costs.h"

using namespace plimsoll;

namespace {

constexpr auto kActivation = static_cast<std::size_t>(TensorKind::kActivation);
constexpr auto kParameter = static_cast<std::size_t>(TensorKind::kParameter);

FlatBody flat(const Plan& plan) { return expand(plan, plan.bodies[0]); }

Trace run(const Plan& plan, std::uint32_t steps = 1) {
  return simulate(plan, "step", FixedCosts(), {.steps = steps}).value();
}

/// Weights of 1000 always; on one queue: a 0-10 writes x (100); b 10-30 reads x, writes y (50); c 30-35 reads y.
Plan three_kernels() {
  TinyPlan tiny;
  const QueueId queue = tiny.queue(QueueKind::kCompute);
  const BufferId weights = tiny.buffer(TinyPlan::kDevice, 1000, TensorKind::kParameter, true);
  const BufferId x = tiny.buffer(TinyPlan::kDevice, 100);
  const BufferId y = tiny.buffer(TinyPlan::kDevice, 50);
  tiny.launch(queue, 10, {}, {tiny.whole(weights, Access::kRead), tiny.whole(x, Access::kWrite)});
  tiny.launch(queue, 20, {}, {tiny.whole(x, Access::kRead), tiny.whole(y, Access::kWrite)});
  tiny.launch(queue, 5, {}, {tiny.whole(y, Access::kRead)});
  return tiny.build();
}

}  // namespace

TEST_CASE("a buffer is live from the start of its first use to the end of its last") {
  const Plan plan = three_kernels();
  const MemoryLedger ledger = memory_ledger(plan, flat(plan), run(plan), 0);
  REQUIRE(ledger.spaces.size() == 2);
  const SpaceLedger& device = ledger.spaces[0];
  // Activations: 100 from 0, 150 from 10, 50 from 30 (x ends), 0 from 35.
  std::vector<std::pair<std::int64_t, std::int64_t>> curve;
  for (const LedgerPoint& point : device.curve) {
    curve.emplace_back(point.time.count, point.live[kActivation].count);
    CHECK(point.live[kParameter] == Bytes(1000));
  }
  CHECK(curve == std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 100}, {10, 150}, {30, 50}, {35, 0}});
  CHECK(device.peak.time == Nanoseconds(10));
  CHECK(total(device.peak.live) == Bytes(1150));
  CHECK(device.live_at_peak == std::vector<BufferId>{BufferId(0), BufferId(1), BufferId(2)});
  CHECK(device.packed == Bytes(4096));
}

TEST_CASE("what ends when another begins is not live beside it") {
  TinyPlan tiny;
  const QueueId queue = tiny.queue(QueueKind::kCompute);
  const BufferId x = tiny.buffer(TinyPlan::kDevice, 100);
  const BufferId y = tiny.buffer(TinyPlan::kDevice, 60);
  tiny.launch(queue, 10, {}, {tiny.whole(x, Access::kWrite)});
  tiny.launch(queue, 10, {}, {tiny.whole(y, Access::kWrite)});
  const Plan plan = tiny.build();
  const MemoryLedger ledger = memory_ledger(plan, flat(plan), run(plan), 0);
  CHECK(total(ledger.spaces[0].peak.live) == Bytes(100));
  CHECK(ledger.spaces[0].live_at_peak == std::vector<BufferId>{x});
}

TEST_CASE("slots of two steps that overlap in time are both live") {
  // Step s loads into slot s mod 2 on one queue (10 ns) while the step before still computes on the other (30 ns).
  TinyPlan tiny;
  const QueueId load = tiny.queue(QueueKind::kHostWork);
  const QueueId compute = tiny.queue(QueueKind::kCompute);
  const BufferId tokens = tiny.buffer(TinyPlan::kDevice, 100, TensorKind::kTokens, false, 2);
  tiny.launch(load, 10, {after(1, 2)}, {tiny.whole(tokens, Access::kWrite)});
  tiny.launch(compute, 30, {after(0)}, {tiny.whole(tokens, Access::kRead)});
  const Plan plan = tiny.build();
  const Trace trace = run(plan, 3);
  // Loads 0-10, 10-20, 40-50; computes 10-40, 40-70, 70-100. Step 0 ends at 40: slot 1 is live from 10 on beside slot
  // 0.
  CHECK(total(memory_ledger(plan, flat(plan), trace, 0).spaces[0].peak.live) == Bytes(200));
  CHECK(memory_ledger(plan, flat(plan), trace, 0).spaces[0].peak.time == Nanoseconds(10));
  // The last step (70-100) has nobody beside it.
  CHECK(total(memory_ledger(plan, flat(plan), trace, 2).spaces[0].peak.live) == Bytes(100));
  CHECK(total(memory_ledger_of_run(plan, flat(plan), trace).spaces[0].peak.live) == Bytes(200));
}

TEST_CASE("a persistent buffer is live with all its slots even when nothing was traced") {
  TinyPlan tiny;
  tiny.buffer(TinyPlan::kHost, 100, TensorKind::kMaster, true, 3);
  const Plan plan = tiny.build();
  const MemoryLedger ledger = memory_ledger(plan, flat(plan), Trace{}, 0);
  CHECK(total(ledger.spaces[1].peak.live) == Bytes(300));
}

TEST_CASE("peaks name the categories that are live and leave out those that are not") {
  const Plan plan = three_kernels();
  const auto peaks = memory_peaks(plan, memory_ledger(plan, flat(plan), run(plan), 0));
  REQUIRE(peaks.size() == 2);
  CHECK(peaks[0].by_category == std::vector<std::pair<TensorKind, Bytes>>{{TensorKind::kParameter, Bytes(1000)},
                                                                          {TensorKind::kActivation, Bytes(150)}});
  CHECK(peaks[1].by_category.empty());
}

TEST_CASE("the ledger's peak is the most that is live at any start of an event, counted one by one") {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    const Plan plan = random_tiny_plan(seed);
    const FlatBody body = flat(plan);
    const Trace trace = run(plan);
    const MemoryLedger ledger = memory_ledger(plan, body, trace, 0);
    for (const SpaceLedger& space : ledger.spaces) {
      Bytes most;
      for (const TraceEvent& moment : trace.events) {
        Bytes live;
        for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
          const Buffer& buffer = plan.buffers[b];
          if (buffer.space != space.space) continue;
          if (buffer.persistent) live += buffer.bytes * buffer.slots;
          if (buffer.persistent) continue;
          Nanoseconds begin{INT64_MAX};
          Nanoseconds end{INT64_MIN};
          for (const TraceEvent& event : trace.events) {
            for (const Use& use : body.uses(body.list.instructions[event.instruction])) {
              if (use.target != b) continue;
              begin = std::min(begin, event.start);
              end = std::max(end, event.end);
            }
          }
          if (begin <= moment.start && moment.start < end) live += buffer.bytes;
        }
        most = std::max(most, live);
      }
      CHECK(total(space.peak.live) == most);
      Bytes at_peak;
      for (const BufferId id : space.live_at_peak) {
        at_peak += plan.at(id).bytes * (plan.at(id).persistent ? plan.at(id).slots : 1);
      }
      CHECK(at_peak == total(space.peak.live));
    }
  }
}
