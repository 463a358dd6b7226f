#include <catch2/catch.hpp>

#include <algorithm>

#include "sim/planner/ranks/exchange_samples.h"
#include "sim/planner/ranks/job_plan.h"
#include "sim/sampling/alone_times.h"
#include "tests/ranks/tiny_job.h"

namespace plimsoll {
namespace {

/// Attention takes 1 ms forward and 2 ms backward, a message what is said, and nothing else takes any time.
class AttentionOnly final : public CostModel {
 public:
  explicit AttentionOnly(Nanoseconds message = {}) : message_(message) {}
  [[nodiscard]] Result<Cost> kernel(const Processor&, const Kernel& kernel) const override {
    std::int64_t milliseconds = 0;
    if (kernel.kind == OpKind::kAttention) milliseconds = 1;
    if (kernel.kind == OpKind::kAttentionBackward) milliseconds = 2;
    const Nanoseconds time(1'000'000 * milliseconds);
    return Cost{time, time, time, CostOrigin::kMeasured};
  }
  [[nodiscard]] Result<Cost> transfer(const Platform&, const Link&, Bytes) const override {
    return Cost{message_, message_, message_, CostOrigin::kMeasured};
  }
  [[nodiscard]] Result<Cost> host_work(const Processor&, HostTask, Bytes) const override { return Cost{}; }
  [[nodiscard]] Nanoseconds issue_overhead(const Platform&, QueueKind) const override { return {}; }
  [[nodiscard]] std::string source() const override { return "made up"; }

 private:
  Nanoseconds message_;
};

struct Timed {
  Nanoseconds step;
  double bubble = 0;
};

Timed time_of(const test::JobShape& shape) {
  const auto plans = test::plans_of(test::tiny_job(shape));
  const auto trace = simulate_ranks(plans, AttentionOnly(), 4);
  if (!trace) FAIL(trace.error().text());
  return {step_of(trace->ranks, 1, 3), bubble_of(plans, trace->ranks, 1, 3)};
}

}  // namespace

TEST_CASE("ranks' plans simulated together have the schedules' closed-form steps and bubbles") {
  // Eight blocks over two ranks: T = 4 · (1 + 2) = 12 ms of a micro-batch on a rank. GPipe and 1F1B: (m + p − 1) T = 5 · 12.
  for (const char* schedule : {"gpipe", "1f1b"}) {
    const Timed timed = time_of({.schedule = schedule, .ranks = 2, .micro_batches = 4});
    CHECK(timed.step == Nanoseconds(60'000'000));
    CHECK(timed.bubble == Approx(1.0 / 5));
  }
  // Over four ranks T = 6 ms: (8 + 3) · 6.
  const Timed four = time_of({.schedule = "1f1b", .ranks = 4, .micro_batches = 8});
  CHECK(four.step == Nanoseconds(66'000'000));
  CHECK(four.bubble == Approx(3.0 / 11));
  // Two chunks a rank halve the ramp: 4 · 12 + 12 ÷ 2.
  const Timed interleaved = time_of({.schedule = "interleaved", .ranks = 2, .micro_batches = 4});
  CHECK(interleaved.step == Nanoseconds(54'000'000));
  CHECK(interleaved.bubble == Approx(6.0 / 54));
}

TEST_CASE("replicas that exchange nothing but gradients have no bubble where exchanges take no time") {
  const Timed timed = time_of({.schedule = "gpipe", .ranks = 1, .micro_batches = 2, .replicas = 2});
  CHECK(timed.step == Nanoseconds(48'000'000));  // 2 micro-batches · 8 blocks · 3 ms
  CHECK(timed.bubble == Approx(0.0).margin(1e-9));
}

TEST_CASE("what a message takes is found again in a trace, however long one rank waits for the other") {
  const test::JobShape shape{.schedule = "gpipe", .ranks = 1, .micro_batches = 2, .layers = 2, .tensor = 2};
  const auto plans = test::plans_of(test::tiny_job(shape));
  auto simulated = simulate_ranks(plans, AttentionOnly(Nanoseconds(40'000)), 4);
  REQUIRE(simulated);
  const FlatBody body = expand(plans[1], *plans[1].body("step"));
  for (Trace& trace : simulated->ranks) {
    for (TraceEvent& event : trace.events) event.status = EventStatus::kMeasured;
  }
  for (TraceEvent& event : simulated->ranks[1].events) {  // it comes first, and waits
    if (body.list.instructions[event.instruction].exchange.valid()) event.start -= Nanoseconds(7'000);
  }
  const auto samples = exchange_samples(plans, simulated->ranks);
  REQUIRE(samples);
  // Sums of 2 · 16 · 32 numbers, of which each of two ranks sends half in each of two rounds: 4096 ÷ 2 bytes in 40 us a round.
  const auto sums = std::count_if(samples->begin(), samples->end(), [](const Sample& of) { return of.key.bytes == Bytes(2048); });
  CHECK(sums > 0);
  CHECK(sums % (2 * 2 * 4) == 0);  // micro-batches, blocks, sums a block: in each typical step
  for (const Sample& sample : *samples) {
    CHECK(sample.duration == Nanoseconds(40'000));
    CHECK_FALSE(sample.contended);
  }
}

TEST_CASE("kernels beside an exchange that waits for another rank took what they took alone") {
  const test::JobShape shape{.schedule = "gpipe", .ranks = 1, .micro_batches = 2, .layers = 2, .tensor = 2};
  auto plans = test::plans_of(test::tiny_job(shape));
  auto simulated = simulate_ranks(plans, AttentionOnly(Nanoseconds(40'000)), 4);
  REQUIRE(simulated);
  Plan& plan = plans[0];
  Trace& trace = simulated->ranks[0];
  plan.platform.resources.push_back({.name = "two cores", .capacity = 2});
  for (Queue& queue : plan.platform.queues) {
    queue.demands.clear();
    if (queue.kind == QueueKind::kCompute || queue.kind == QueueKind::kCommunication) queue.demands = {{ResourceId(plan.platform.resources.size() - 1), 2}};
  }
  const FlatBody body = expand(plan, *plan.body("step"));
  const auto exchanges = [&](const TraceEvent& event) { return body.list.instructions[event.instruction].exchange.valid(); };
  for (TraceEvent& event : trace.events) {
    if (exchanges(event)) event.start -= Nanoseconds(700'000);  // most of an attention
  }
  const auto times = alone_times(plan, body, trace);
  int kernels = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const TraceEvent& event = trace.events[i];
    if (exchanges(event) || event.end == event.start) continue;
    CHECK(times[i].duration == event.end - event.start);
    CHECK_FALSE(times[i].contended);
    ++kernels;
  }
  CHECK(kernels > 10);
}

}  // namespace plimsoll
