#include "sim/sampling/samples_from_trace.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/support/plan_writer.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

/// Two kernels on the device, a copy between them on another queue, a token load, and a marker.
struct Example {
  PlanWriter writer;
  std::uint32_t load = 0, first = 0, copy = 0, second = 0, mark = 0;

  Example() {
    const auto tokens = writer.buffer("tokens", "host", Bytes(0), Bytes(4096));
    const auto a = writer.buffer("a", "gpu0", Bytes(0), kMiB);
    const auto b = writer.buffer("b", "host", Bytes(4096), kMiB);
    load = writer.host_work(HostTask::kLoadTokens, {write(tokens)});
    first = writer.launch("compute", OpKind::kAdd, Phase::kForward, {update(a)});
    copy = writer.copy(InstructionKind::kCopy, "d2h", read(a), write(b), {after(first)});
    second = writer.launch("compute", OpKind::kAdd, Phase::kForward, {update(a)}, {after(copy)});
    mark = writer.marker("compute");
  }
};

TraceEvent event(std::uint32_t id, std::int64_t start, std::int64_t end, EventStatus status = EventStatus::kMeasured) {
  return {.step = 0, .instruction = id, .start = Nanoseconds(start), .end = Nanoseconds(end), .status = status};
}

std::vector<Sample> of_subject(const std::vector<Sample>& samples, CostSubject subject) {
  std::vector<Sample> chosen;
  std::copy_if(samples.begin(), samples.end(), std::back_inserter(chosen),
               [&](const Sample& s) { return s.key.subject == subject; });
  return chosen;
}

}  // namespace

TEST_CASE("a trace yields one sample for each launch, transfer and host task, keyed as a model would ask") {
  const Example e;
  const Trace trace{.plan_digest = "d",
                    .events = {event(e.load, 0, 50), event(e.first, 0, 100), event(e.copy, 110, 300),
                               event(e.second, 320, 430), event(e.mark, 430, 430)}};
  PlanWriter writer = e.writer;
  const auto samples = samples_from_trace(writer.plan(), writer.body(), trace);
  const auto& platform = writer.plan().platform;
  const auto kernels = of_subject(samples, CostSubject::kKernel);
  REQUIRE(kernels.size() == 2);
  CHECK(kernels[0].key == kernel_key(platform.processors[0], writer.plan().kernels[0]));
  CHECK(kernels[0].duration == Nanoseconds(100));
  CHECK(kernels[1].duration == Nanoseconds(110));
  CHECK(kernels[1].plan_digest == "d");
  const auto transfers = of_subject(samples, CostSubject::kTransfer);
  REQUIRE(transfers.size() == 1);
  CHECK(transfers[0].key == transfer_key(platform, platform.links[0], kMiB));
  CHECK(transfers[0].duration == Nanoseconds(190));
  const auto tasks = of_subject(samples, CostSubject::kHostWork);
  REQUIRE(tasks.size() == 1);
  CHECK(tasks[0].key == host_work_key(platform.processors[1], HostTask::kLoadTokens, Bytes(4096)));
}

TEST_CASE("a gap after all that an instruction waited for is a sample of its queue's issue overhead") {
  const Example e;
  const Trace trace{.events = {event(e.load, 0, 50), event(e.first, 0, 100), event(e.copy, 110, 300),
                               event(e.second, 320, 430), event(e.mark, 430, 430)}};
  PlanWriter writer = e.writer;
  // Only the second kernel has a predecessor on its queue in the trace; it could start at max(100, 300), and did at
  // 320.
  const auto gaps = of_subject(samples_from_trace(writer.plan(), writer.body(), trace), CostSubject::kIssue);
  REQUIRE(gaps.size() == 1);
  CHECK(gaps[0].key == issue_key(writer.plan().platform, QueueKind::kCompute));
  CHECK(gaps[0].duration == Nanoseconds(20));
}

TEST_CASE("what tracing put between a device's instructions is no overhead of its queue") {
  const Example e;
  Trace trace{.marking = Nanoseconds(15),
              .events = {event(e.load, 0, 50), event(e.first, 0, 100), event(e.copy, 110, 300), event(e.second, 320, 430)}};
  PlanWriter writer = e.writer;
  const auto gap = [&] { return of_subject(samples_from_trace(writer.plan(), writer.body(), trace), CostSubject::kIssue).at(0).duration; };
  CHECK(gap() == Nanoseconds(5));  // 320 − 300 − 15
  trace.marking = Nanoseconds(30);
  CHECK(gap() == Nanoseconds(0));
}

TEST_CASE("only typical steps are sampled") {
  const Example e;
  PlanWriter writer = e.writer;
  Trace trace{.plan_digest = "d"};
  std::int64_t now = 0;
  for (const std::int64_t took : {900, 100, 110, 300}) {  // the first, the shortest and the longest step say nothing
    const auto step = static_cast<std::uint32_t>(trace.steps.size());
    trace.steps.push_back({.step = step, .start = Nanoseconds(now), .end = Nanoseconds(now + took)});
    TraceEvent kernel = event(e.first, now, now + took);
    kernel.step = step;
    trace.events.push_back(kernel);
    now += took;
  }
  const auto samples = of_subject(samples_from_trace(writer.plan(), writer.body(), trace), CostSubject::kKernel);
  REQUIRE(samples.size() == 1);
  CHECK(samples[0].duration == Nanoseconds(110));
}

TEST_CASE("skipped and bounded events give no samples") {
  const Example e;
  const Trace trace{
      .events = {event(e.load, 0, 50, EventStatus::kBounded), event(e.first, 0, 0, EventStatus::kSkipped)}};
  PlanWriter writer = e.writer;
  CHECK(samples_from_trace(writer.plan(), writer.body(), trace).empty());
}
