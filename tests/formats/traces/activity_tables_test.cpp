#include "formats/runs/activity_tables.h"

#include <catch2/catch.hpp>

#include "formats/runs/run_file.h"
#include "formats/runs/run_file_writer.h"
#include "formats/runs/short_kernel_name.h"
#include "formats/runs/statement.h"
#include "formats/traces/read_nsight.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll::test {
namespace {

constexpr DeviceStream kOn{321, 0, 1, 7};

/// One kernel, one copy and one fill, with who asked for the kernel.
void add_work(Recording& r, std::uint32_t thread) {
  r.work = {{.start = Nanoseconds(10),
             .end = Nanoseconds(30),
             .correlation = 5,
             .on = kOn,
             .name = r.names.add("void a::gemm<float>(float*)"),
             .shape = 0,
             .kind = DeviceWorkKind::kKernel},
            {.start = Nanoseconds(30),
             .end = Nanoseconds(70),
             .correlation = 6,
             .bytes = 4096,
             .on = kOn,
             .name = r.names.add("Memcpy HtoD"),
             .kind = DeviceWorkKind::kCopy,
             .copy_kind = 1,
             .source_kind = 1,
             .target_kind = 2},
            {.start = Nanoseconds(80),
             .end = Nanoseconds(90),
             .correlation = 7,
             .bytes = 64,
             .on = kOn,
             .name = r.names.add("Memset"),
             .kind = DeviceWorkKind::kFill,
             .target_kind = 2}};
  r.calls = {{.start = Nanoseconds(1),
              .end = Nanoseconds(5),
              .correlation = 5,
              .name = r.names.add("cudaLaunchKernel"),
              .thread = thread}};
}

void add_ranges(Recording& r, std::uint32_t thread) {
  r.ranges = {{.start = Nanoseconds(0), .end = Nanoseconds(100), .name = r.names.add("ProfilerStep#1"), .thread = thread},
              {.start = Nanoseconds(1),
               .end = Nanoseconds(6),
               .name = r.names.add("aten::mm"),
               .thread = thread,
               .kind = RangeKind::kOperator}};
}

/// One kernel, one copy, one fill, a call, a wait, a range, an operator, memory events and a loss.
Recording one_of_each() {
  Recording r;
  r.source = "test";
  r.epoch = 1'750'000'000'000'000'000;
  r.devices = {
      {.device = 0, .name = "RTX 2060", .memory = 6 * kGiB, .compute_major = 7, .compute_minor = 5, .multiprocessors = 30}};
  const std::uint32_t thread = r.thread(321, 99);
  r.threads[thread].name = "trainer";
  r.shapes = {{.grid = {4, 5, 6}, .block = {7, 8, 9}, .registers = 40, .static_shared = 1, .dynamic_shared = 2, .local = 3}};
  add_work(r, thread);
  r.waits = {{.start = Nanoseconds(40),
              .end = Nanoseconds(95),
              .correlation = 8,
              .event_correlation = 4,
              .on = kOn,
              .event = 3,
              .event_stream = 9,
              .kind = WaitKind::kStreamWaitsEvent}};
  add_ranges(r, thread);
  r.allocations = {{.time = Nanoseconds(2),
                    .address = 4096,
                    .bytes = 512,
                    .allocated = 512,
                    .reserved = 2048,
                    .process = 321,
                    .of_framework = true},
                   {.time = Nanoseconds(9), .address = 4096, .bytes = -512, .process = 321}};
  r.readings = {{.time = Nanoseconds(50), .device = 0, .free = kGiB, .total = 6 * kGiB}};
  r.instructions = {{.correlation = 5, .process = 321, .step = 2, .instruction = 3}};
  r.losses = {{.what = "device records", .count = 4}};
  return r;
}

void write_run(const std::string& path, const Recording& recording) {
  RunFileWriter(path, {"profile", "2025-01-02T03:04:05Z", "0.1.0", "plimsoll profile -- x", "a computer"}).close();
  REQUIRE(add_recording(path, recording));
}

void check_work(const Recording& wrote, const Recording& read) {
  REQUIRE(read.work.size() == wrote.work.size());
  for (std::size_t i = 0; i < wrote.work.size(); ++i) {
    const DeviceWork& a = wrote.work[i];
    const DeviceWork& b = read.work[i];
    CHECK(a.start == b.start);
    CHECK(a.end == b.end);
    CHECK(a.correlation == b.correlation);
    CHECK(a.bytes == b.bytes);
    CHECK(a.on == b.on);
    CHECK(a.kind == b.kind);
    CHECK(a.copy_kind == b.copy_kind);
    CHECK(a.target_kind == b.target_kind);
    CHECK(wrote.names.at(a.name) == read.names.at(b.name));
  }
}

}  // namespace

TEST_CASE("a recording comes back from a run file as it was") {
  const TemporaryFolder folder;
  const Recording wrote = one_of_each();
  write_run(folder.file("a.plimsoll"), wrote);
  const auto read = read_nsight(folder.file("a.plimsoll"));
  REQUIRE(read);
  CHECK(read->source == "test");
  CHECK(read->epoch == wrote.epoch);
  check_work(wrote, *read);
  CHECK(read->shapes[read->work[0].shape] == wrote.shapes[0]);
  REQUIRE(read->calls.size() == 1);
  CHECK(read->threads[read->calls[0].thread].name == "trainer");
  CHECK(read->threads[read->calls[0].thread].thread == 99);
  REQUIRE(read->waits.size() == 1);
  CHECK(read->waits[0].kind == WaitKind::kStreamWaitsEvent);
  CHECK(read->waits[0].event_correlation == 4);
  CHECK(read->waits[0].event_stream == 9);
  REQUIRE(read->ranges.size() == 2);
  CHECK(read->ranges[1].kind == RangeKind::kOperator);
  CHECK(marked_steps(*read).size() == 1);
  REQUIRE(read->allocations.size() == 2);
  CHECK(read->allocations[0].reserved == 2048);
  CHECK(read->allocations[0].of_framework);
  CHECK(read->allocations[1].bytes == -512);
  CHECK(read->allocations[1].allocated == -1);
  REQUIRE(read->instructions.size() == 1);
  CHECK(read->instructions[0].instruction == 3);
  REQUIRE(read->losses.size() == 1);
  CHECK(read->losses[0].count == 4);
  CHECK(read->readings[0].free == kGiB);
  CHECK(read->devices[0].multiprocessors == 30);
}

TEST_CASE("a run file with a recording is still a run file") {
  const TemporaryFolder folder;
  write_run(folder.file("a.plimsoll"), one_of_each());
  const auto run = read_run_file(folder.file("a.plimsoll"));
  REQUIRE(run);
  CHECK(run->meta.kind == "profile");
  CHECK(run->finished);
}

TEST_CASE("a query written for Nsight Systems runs on a run file") {
  const TemporaryFolder folder;
  write_run(folder.file("a.plimsoll"), one_of_each());
  Database database(folder.file("a.plimsoll"), Database::Mode::kRead);
  // As reports of Nsight Systems ask: kernels with the time since their launch, by name; copies by direction and memory.
  Statement kernels(
      database,
      R"(SELECT names.value, count(*), sum(k."end" - k.start), min(k.start - r.start), k.globalPid / 0x1000000 % 0x1000000
    FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds names ON names.id = k.shortName
    JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = k.correlationId AND k.globalPid = r.globalTid & ~0xffffff
    GROUP BY k.shortName)");
  REQUIRE(kernels.step());
  CHECK(kernels.text(0) == "gemm");
  CHECK(kernels.integer(1) == 1);
  CHECK(kernels.integer(2) == 20);
  CHECK(kernels.integer(3) == 9);
  CHECK(kernels.integer(4) == 321);
  Statement copies(database, R"(SELECT oper.label, source.label, target.label, sum(m.bytes) FROM CUPTI_ACTIVITY_KIND_MEMCPY m
    JOIN ENUM_CUDA_MEMCPY_OPER oper ON oper.id = m.copyKind JOIN ENUM_CUDA_MEM_KIND source ON source.id = m.srcKind
    JOIN ENUM_CUDA_MEM_KIND target ON target.id = m.dstKind GROUP BY 1, 2, 3)");
  REQUIRE(copies.step());
  CHECK(copies.text(0) == "Host-to-Device");
  CHECK(copies.text(1) == "Pinned");
  CHECK(copies.text(2) == "Device");
  CHECK(copies.integer(3) == 4096);
  Statement ranges(database, R"(SELECT coalesce(text, value) FROM NVTX_EVENTS LEFT JOIN StringIds ON textId = id
    WHERE eventType = 59 AND domainId = 0)");
  REQUIRE(ranges.step());
  CHECK(ranges.text(0) == "ProfilerStep#1");
}

TEST_CASE("tables without a row are not made") {
  const TemporaryFolder folder;
  Recording recording = one_of_each();
  recording.work.erase(recording.work.begin() + 1, recording.work.end());
  recording.waits.clear();
  write_run(folder.file("a.plimsoll"), recording);
  Database database(folder.file("a.plimsoll"), Database::Mode::kRead);
  CHECK(database.integer("SELECT count(*) FROM sqlite_master WHERE name LIKE '%MEMCPY' OR name LIKE '%SYNCHRONIZATION'") == 0);
  CHECK(database.integer("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL") == 1);
}

TEST_CASE("a run file takes one recording") {
  const TemporaryFolder folder;
  write_run(folder.file("a.plimsoll"), one_of_each());
  const auto again = add_recording(folder.file("a.plimsoll"), one_of_each());
  REQUIRE_FALSE(again);
  CHECK(again.error().kind == ErrorKind::kInput);
}

TEST_CASE("a kernel's short name is what people call it") {
  CHECK(short_kernel_name("ampere_sgemm_128x64_nn") == "ampere_sgemm_128x64_nn");
  CHECK(short_kernel_name("void ns::gemm<float>(float*)") == "gemm");
  CHECK(short_kernel_name("void at::native::(anonymous namespace)::multi_tensor<int, f<(int)3> >(A, B)") == "multi_tensor");
  CHECK(short_kernel_name("void outer<int>::inner<float>(float)") == "inner");
  CHECK(short_kernel_name("").empty());
  CHECK(short_kernel_name("<<<(((") == "<<<(((");
}

}  // namespace plimsoll::test
