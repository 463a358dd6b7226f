#include "profiler/decode/decode_spool.h"

#include <catch2/catch.hpp>

#include "profiler/decode/instruction_events.h"
#include "tests/support/built_spool.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll::test {
namespace {

DecodedSpools decode_small() {
  const TemporaryFolder folder;
  write_small_spool(folder.file("a.spool"));
  auto decoded = decode_spools({folder.file("a.spool")});
  REQUIRE(decoded);
  return std::move(*decoded);
}

}  // namespace

TEST_CASE("decoded times count from the capture's beginning on the calendar's clock") {
  const DecodedSpools decoded = decode_small();
  const Recording& recording = decoded.recording;
  CHECK(recording.epoch == kStarted);
  REQUIRE(recording.work.size() == 4);
  CHECK(recording.work[0].start.count == 1000);
  CHECK(recording.work[0].end.count == 3000);
  CHECK(recording.work[1].start.count == 3100);
  CHECK(decoded.clock_residual_ns == 0);
  CHECK(recording.losses.empty());
}

TEST_CASE("how many functions' calls a capture left out is told and noted, and nothing where it left out none") {
  const TemporaryFolder folder;
  write_small_spool(folder.file("a.spool"));
  {
    SpoolWriter spool(folder.file("b.spool"), {.process = kBuiltProcess + 1, .started = kStarted});
    spool.add(LeftOutRecord{77});
  }
  const auto decoded = decode_spools({folder.file("a.spool"), folder.file("b.spool")});
  REQUIRE(decoded);
  CHECK(decoded->functions_left_out == 77);
  REQUIRE(decoded->notes.size() == 3);
  CHECK(decoded->notes[2].find("process 4243: calls of 77 functions") == 0);
  CHECK(decode_small().functions_left_out == 0);
}

TEST_CASE("decoded work keeps its stream, its bytes, its demangled name and the call that submitted it") {
  const Recording recording = decode_small().recording;
  const DeviceWork& copy = recording.work[0];
  CHECK(copy.kind == DeviceWorkKind::kCopy);
  CHECK(copy.bytes == 4096);
  CHECK(copy.on == DeviceStream{kBuiltProcess, 0, 1, 2});
  CHECK(recording.names.at(copy.name) == "Memcpy HtoD");
  const DeviceWork& kernel = recording.work[1];
  CHECK(recording.names.at(kernel.name) == "void ns::gemm<float>(float*)");
  CHECK(recording.shapes[kernel.shape].grid == std::array<std::int32_t, 3>{30, 2, 1});
  CHECK(kernel.correlation == 13);
  REQUIRE(recording.calls.size() == 6);
  CHECK(recording.names.at(recording.calls[0].name) == "cudaMemcpyAsync");
  CHECK(recording.threads[recording.calls[0].thread].thread == 7);
}

TEST_CASE("a stream's wait names the stream and the call that recorded its event") {
  const Recording recording = decode_small().recording;
  REQUIRE(recording.waits.size() == 2);
  CHECK(recording.waits[0].kind == WaitKind::kStreamWaitsEvent);
  CHECK(recording.waits[0].on.stream == 1);
  CHECK(recording.waits[0].event_stream == 2);
  CHECK(recording.waits[0].event_correlation == 11);
  CHECK(recording.waits[1].kind == WaitKind::kStream);
}

TEST_CASE("bytes given back are those that were asked for at the address") {
  const Recording recording = decode_small().recording;
  REQUIRE(recording.allocations.size() == 2);
  CHECK(recording.allocations[0].bytes == 4096);
  CHECK(recording.allocations[1].bytes == -4096);
  REQUIRE(recording.readings.size() == 1);
  CHECK(recording.readings[0].free == Bytes(std::int64_t{5} << 30));
}

TEST_CASE("ranges are marked steps") {
  const auto steps = marked_steps(decode_small().recording);
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].name == "step 0");
  CHECK(steps[0].start.count == 100);
  CHECK(steps[0].end.count == 6500);
}

TEST_CASE("an instruction's event is the envelope of what it submitted") {
  Recording recording = decode_small().recording;
  // Instruction 6 launches a second kernel: 7000–7500 beside 5200–6200.
  DeviceWork more = recording.work[2];
  more.start = Nanoseconds(7000);
  more.end = Nanoseconds(7500);
  recording.work.push_back(more);
  const auto events = instruction_events(recording);
  REQUIRE(events.size() == 2);
  CHECK(events[0].step == 3);
  CHECK(events[0].instruction == 5);
  CHECK(events[0].start.count == 3100);
  CHECK(events[0].end.count == 5100);
  CHECK(events[1].instruction == 6);
  CHECK(events[1].start.count == 5200);
  CHECK(events[1].end.count == 7500);
  CHECK(unlinked_work(recording) == 2);  // the copy and the fill
}

TEST_CASE("what a spool lost is counted, not passed over") {
  const TemporaryFolder folder;
  {
    SpoolWriter spool(folder.file("a"), {.process = 1, .started = 10});
    spool.add(LostRecord{17});
    spool.add(MarkRecord{.time = 5, .id = 3, .kind = MarkKind::kBegin});
    spool.add(MarkRecord{.time = 6, .id = 4, .kind = MarkKind::kEnd});
    spool.flush();
    spool.abandon();  // as if the program had been killed
  }
  const auto decoded = decode_spools({folder.file("a")});
  REQUIRE(decoded);
  std::vector<std::pair<std::string, std::uint64_t>> losses;
  for (const RecordingLoss& loss : decoded->recording.losses) losses.emplace_back(loss.what, loss.count);
  const std::vector<std::pair<std::string, std::uint64_t>> wanted{
      {"device records", 17}, {"beginnings of NVTX ranges", 1}, {"ends of NVTX ranges", 1}, {"ends of spools", 1}};
  CHECK(losses == wanted);
}

TEST_CASE("spools of two processes stand on one clock") {
  const TemporaryFolder folder;
  for (const std::uint32_t process : {1u, 2u}) {
    SpoolWriter spool(folder.file(std::to_string(process)), {.process = process, .started = 1000});
    // Each capture's clock began at another time: both kernels ran at 5000 of the calendar.
    const std::int64_t offset = process == 1 ? 400 : 3000;
    spool.add(ClockRecord{.capture = 0, .calendar = offset});
    const auto start = static_cast<std::uint64_t>(5000 - offset);
    spool.add(KernelRecord{.start = start, .end = start + 10, .name = spool.name("k")});
  }
  const auto decoded = decode_spools({folder.file("1"), folder.file("2")});
  REQUIRE(decoded);
  REQUIRE(decoded->recording.work.size() == 2);
  CHECK(decoded->recording.work[0].start == decoded->recording.work[1].start);
  CHECK(decoded->recording.work[0].start.count == 4000);
  CHECK(decoded->recording.work[0].on.process != decoded->recording.work[1].on.process);
}

}  // namespace plimsoll::test
