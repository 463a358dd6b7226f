#include "sim/replay/replay.h"

#include <catch2/catch.hpp>

#include "formats/traces/read_recording.h"

namespace plimsoll::test {
namespace {

Nanoseconds us(std::int64_t count) { return Nanoseconds(1000 * count); }

/// A program written down call by call, in microseconds.
class Program {
 public:
  /// A launch on `thread` and its kernel on `stream`.
  Program& launch(std::uint32_t thread, std::int64_t call, std::int64_t call_time, std::int64_t stream, std::int64_t start,
                  std::int64_t time, const char* name = "kernel") {
    ++correlation_;
    add_call(thread, "cudaLaunchKernel", call, call_time);
    recording.work.push_back({.start = us(start),
                              .end = us(start + time),
                              .correlation = correlation_,
                              .on = {1, 0, 1, stream},
                              .name = recording.names.add(name)});
    return *this;
  }
  Program& call(std::uint32_t thread, const char* name, std::int64_t start, std::int64_t time) {
    ++correlation_;
    add_call(thread, name, start, time);
    return *this;
  }
  Recording& done() {
    recording.sort();
    return recording;
  }

  Recording recording;
  std::uint64_t correlation_ = 0;

 private:
  void add_call(std::uint32_t thread, const char* name, std::int64_t start, std::int64_t time) {
    recording.calls.push_back({.start = us(start),
                               .end = us(start + time),
                               .correlation = correlation_,
                               .name = recording.names.add(name),
                               .thread = recording.thread(1, thread)});
  }
};

Replayed run(const Recording& recording, const ReplayOptions& options = {}) {
  auto replayed = replay(recording, options);
  REQUIRE(replayed);
  return std::move(*replayed);
}

/// Launches of 5 µs every 10 µs, kernels of 100 µs: the device is the bottleneck. The first starts 2 µs after its call, the
/// others 1 µs after the one before. A synchronization waits for the last and returns 3 µs later.
Recording device_bound() {
  Program program;
  for (int i = 0; i < 10; ++i) program.launch(1, 10 * i, 5, 7, 7 + 101 * i, 100);
  program.call(1, "cudaDeviceSynchronize", 100, 7 + 101 * 9 + 100 + 3 - 100);
  return program.done();
}

/// Launches of 5 µs every 50 µs, kernels of 10 µs that start 2 µs after their call: the host is the bottleneck.
Recording host_bound() {
  Program program;
  for (int i = 0; i < 10; ++i) program.launch(1, 50 * i, 5, 7, 50 * i + 7, 10);
  program.call(1, "cudaDeviceSynchronize", 480, 2);
  return program.done();
}

}  // namespace

TEST_CASE("a recording without a change replays as it was") {
  for (const Recording& recording : {device_bound(), host_bound()}) {
    const Replayed replayed = run(recording);
    CHECK(replayed.predicted == replayed.traced);
    CHECK(replayed.start_error_worst == Nanoseconds(0));
    CHECK(replayed.events == 10);
    CHECK(replayed.path.total == replayed.predicted);
  }
}

TEST_CASE("faster kernels help where the device is the bottleneck, and only there") {
  const ReplayOptions halved{.scales = {{.part = ReplayPart::kKernel, .factor = 0.5}}};
  // 10 kernels of 50 instead of 100 µs: 500 of 1019 µs are saved.
  const Replayed device = run(device_bound(), halved);
  CHECK(device.traced == us(1019));
  CHECK(device.predicted == us(519));
  // The host still launches every 50 µs and returns at 482.
  const Replayed host = run(host_bound(), halved);
  CHECK(host.predicted == host.traced);
}

TEST_CASE("without the host's pauses the calls lie end to end") {
  // 10 launches of 5 µs; kernels of 10 µs behind each other with the latency of 2 µs for a gap: nobody waited, so no gap is
  // known.
  const Replayed replayed = run(host_bound(), {.host_gaps = false});
  CHECK(replayed.predicted < us(120));
  CHECK(replayed.predicted >= us(100));
}

TEST_CASE("a rule scales what its pattern names, and nothing else") {
  Program program;
  program.launch(1, 0, 5, 7, 10, 100, "void gemm<1>").launch(1, 10, 5, 7, 110, 100, "softmax");
  program.call(1, "cudaDeviceSynchronize", 20, 190);
  const Recording recording = program.done();
  const auto rule = parse_scale_rule("kernel=gemm:0.5");
  REQUIRE(rule);
  CHECK(run(recording, {.scales = {*rule}}).predicted == us(160));
  const auto whole = parse_scale_rule("kernel=soft*:3");
  REQUIRE(whole);
  CHECK(run(recording, {.scales = {*whole}}).predicted == us(410));
  CHECK_FALSE(fits(*whole, "microsoft"));
  for (const char* text : {"", "kernel", "kernel=gemm", "kernel=gemm:", "kernel=gemm:-1", "kernel=gemm:nan", "thing=a:1"}) {
    INFO(text);
    CHECK_FALSE(parse_scale_rule(text));
  }
}

TEST_CASE("a stream waits for the event of another stream") {
  // Kernel a (100 µs) on stream 1, event recorded behind it, stream 2 waits, kernel b on stream 2; then the device is waited for.
  Program program;
  program.launch(1, 0, 5, 1, 7, 100, "a").call(1, "cudaEventRecord", 6, 2).call(1, "cudaStreamWaitEvent", 9, 2);
  const std::uint64_t record = 2, wait = 3;
  program.launch(1, 20, 5, 2, 109, 50, "b").call(1, "cudaDeviceSynchronize", 30, 130);
  Recording recording = program.done();
  SECTION("as the record says") {
    recording.waits.push_back({.start = us(9),
                               .end = us(11),
                               .correlation = wait,
                               .event_correlation = record,
                               .on = {1, 0, 1, 2},
                               .event_stream = 1,
                               .kind = WaitKind::kStreamWaitsEvent});
    const Replayed replayed = run(recording, {.scales = {{.part = ReplayPart::kKernel, .pattern = "a", .factor = 2}}});
    CHECK(replayed.graph.recorded_edges == 1);
    CHECK(replayed.predicted >= us(7 + 200 + 50));
  }
  SECTION("and where no record tells for what, for the work that ended just before") {
    const Replayed replayed = run(recording, {.scales = {{.part = ReplayPart::kKernel, .pattern = "a", .factor = 2}}});
    CHECK(replayed.graph.inferred_edges == 1);
    CHECK(replayed.predicted >= us(7 + 200 + 50));
  }
  SECTION("but not where no stream was told to wait") {
    recording.calls.erase(recording.calls.begin() + 2);
    CHECK(run(recording).graph.inferred_edges == 0);
  }
}

TEST_CASE("a thread that takes over from another starts when that one is done") {
  // Thread 1 launches for 0–50 µs, thread 2 from 400 on; thread 1 synchronizes when 2 is done, at 1000.
  Program program;
  for (int i = 0; i < 5; ++i) program.launch(1, 10 * i, 5, 7, 10 * i + 7, 3);
  for (int i = 0; i < 5; ++i) program.launch(2, 400 + 10 * i, 5, 7, 407 + 10 * i, 3);
  program.call(1, "cudaDeviceSynchronize", 1000, 5);
  const Recording recording = program.done();
  const Replayed as_it_was = run(recording);
  CHECK(as_it_was.predicted == as_it_was.traced);
  CHECK(as_it_was.graph.handovers == 2);
  // Launches of thread 1 that take 105 instead of 5 µs delay everything behind by 500 µs.
  const Replayed slower = run(recording, {.scales = {{.part = ReplayPart::kCall, .pattern = "LaunchKernel", .factor = 21}}});
  CHECK(slower.predicted == us(1005 + 1000));
}

TEST_CASE("work that was launched before the recording began is held where it began") {
  Program program;
  program.launch(1, 10, 5, 7, 400, 10);
  for (int i = 0; i < 3; ++i)
    program.recording.work.push_back({.start = us(100 + 100 * i),
                                      .end = us(199 + 100 * i),
                                      .correlation = 77,
                                      .on = {1, 0, 1, 7},
                                      .name = program.recording.names.add("before")});
  const Replayed replayed = run(program.done());
  CHECK(replayed.graph.pinned == 1);
  CHECK(replayed.start_error_worst <= us(3));
}

TEST_CASE("work belongs to the last call that has its id, where ids come round again") {
  // Ten launches, one every 50 us, whose kernels begin 7 us later: the i-th is the only one that has begun then and not submitted yet.
  Recording recording = host_bound();
  for (HostCall& call : recording.calls) call.correlation = 1;
  for (DeviceWork& work : recording.work) work.correlation = 1;
  const Replayed replayed = run(recording);
  CHECK(replayed.graph.pinned == 0);
  CHECK(replayed.predicted == replayed.traced);
  CHECK(replayed.start_error_worst == Nanoseconds(0));
}

TEST_CASE("a trace without device work is refused") {
  Program program;
  program.call(1, "cudaMalloc", 0, 5);
  CHECK_FALSE(replay(program.done()));
}

TEST_CASE("a hostile recording replays to an end") {
  // Everything at one moment, ids used twice, work before its launch, calls within calls.
  Program program;
  for (int i = 0; i < 50; ++i) program.launch(static_cast<std::uint32_t>(i % 3), 5, i % 2, i % 4, i % 7, 0);
  for (DeviceWork& work : program.recording.work) work.correlation = work.correlation % 5;
  program.call(1, "cudaDeviceSynchronize", 5, 0).call(2, "cudaMemcpy", 4, 9);
  const auto replayed = replay(program.done());
  CHECK(replayed);
}

TEST_CASE("traces by others replay within three parts in a hundred, and start within two of their length") {
  for (const char* file : {"bert_small_h100.json.gz", "event_sync_a100.json.gz", "param_benchmark_a100.json.gz"}) {
    const auto recording = read_recording(std::string(PLIMSOLL_TRACES) + "/" + file);
    REQUIRE(recording);
    const Replayed replayed = run(*recording);
    INFO(file);
    CHECK(std::abs(replayed.error()) < 0.03);
    CHECK(replayed.start_error_p90.count <= replayed.traced.count / 50);
  }
}

}  // namespace plimsoll::test
