#include <catch2/catch.hpp>

#include "sim/replay/replay.h"
#include "sim/replay/work_factors.h"

namespace plimsoll::test {
namespace {

GpuEntry gpu(double fp32, double fp16, double memory, int generation) {
  GpuEntry entry{.name = "a GPU"};
  entry.fp32_tflops = fp32;
  entry.fp16_tflops = fp16;
  entry.memory_gbs = memory;
  entry.pcie_generation = generation;
  entry.pcie_lanes = 16;
  return entry;
}

void add(Recording& recording, const char* name, DeviceWorkKind kind, std::int64_t took, std::int64_t bytes = 0, std::uint8_t copy = 0) {
  const Nanoseconds start(static_cast<std::int64_t>(recording.work.size()) * 100'000);
  recording.work.push_back({.start = start, .end = start + Nanoseconds(took), .bytes = bytes, .name = recording.names.add(name),
                            .kind = kind, .copy_kind = copy});
}

}  // namespace

TEST_CASE("on another GPU products go by its arithmetic, the rest by its memory, copies by its slot") {
  Recording recording;
  add(recording, "ampere_sgemm_128x64_nn", DeviceWorkKind::kKernel, 1000);
  add(recording, "ampere_fp16_s16816gemm_fp16_128x128", DeviceWorkKind::kKernel, 1000);
  add(recording, "vectorized_elementwise_kernel<float>", DeviceWorkKind::kKernel, 1000);
  add(recording, "ncclDevKernel_AllReduce_Sum_f32", DeviceWorkKind::kKernel, 1000);
  add(recording, "Memcpy HtoD", DeviceWorkKind::kCopy, 1000, 1 << 20, 1);
  add(recording, "Memset", DeviceWorkKind::kFill, 1000, 1 << 20);
  const auto moved = factors_on_gpu(recording, gpu(10, 100, 500, 3), gpu(20, 400, 1000, 4));
  REQUIRE(moved);
  CHECK(moved->factors == std::vector<double>{0.5, 0.25, 0.5, 1.0, 0.5, 0.5});
  CHECK_FALSE(factors_on_gpu(recording, gpu(10, 100, 500, 3), GpuEntry{.name = "unknown"}));
}

TEST_CASE("a GPU without the units of a type computes by fp32's rate, and the answer says so") {
  // 100 TFLOP/s of bf16 on the one, 20 of fp32 and no bf16 on the other: 5 times as long.
  Recording recording;
  add(recording, "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n", DeviceWorkKind::kKernel, 1000);
  GpuEntry from = gpu(10, 100, 500, 3);
  from.bf16_tflops = 100;
  const auto moved = factors_on_gpu(recording, from, gpu(20, 400, 1000, 4));
  REQUIRE(moved);
  CHECK(moved->factors == std::vector<double>{5.0});
  CHECK(moved->judged.begin()->first == "bf16 arithmetic (at fp32's rate on a GPU, which has no bf16 units)");
}

TEST_CASE("another bandwidth changes what copies take for their bytes, and not what they take besides") {
  // 100 000 bytes in 10 µs: 10 bytes a ns. 100 bytes in 1010 ns: 10 ns of them move bytes. At 20 GB/s: 5000 ns, and 1000 + 5.
  Recording recording;
  add(recording, "Memcpy HtoD", DeviceWorkKind::kCopy, 10'000, 100'000, 1);
  add(recording, "Memcpy HtoD", DeviceWorkKind::kCopy, 1'010, 100, 1);
  add(recording, "Memcpy DtoD", DeviceWorkKind::kCopy, 1'000, 100'000, 8);
  const auto faster = factors_at_bandwidth(recording, 20);
  REQUIRE(faster);
  CHECK(faster->factors[0] == Approx(0.5));
  CHECK(faster->factors[1] == Approx(1005.0 / 1010.0));
  CHECK(faster->factors[2] == 1.0);
  recording.work.erase(recording.work.begin(), recording.work.begin() + 2);
  CHECK_FALSE(factors_at_bandwidth(recording, 20));
}

TEST_CASE("a replay with factors takes each piece of work that much longer") {
  Recording recording;
  add(recording, "k", DeviceWorkKind::kKernel, 1000);
  add(recording, "k", DeviceWorkKind::kKernel, 1000);
  const auto as_it_was = replay(recording);
  const auto slower = replay(recording, {.scales = {}, .work_factors = {1.0, 3.0}});
  REQUIRE(as_it_was);
  REQUIRE(slower);
  CHECK(slower->predicted - as_it_was->predicted == Nanoseconds(2000));
}

}  // namespace plimsoll::test
