#include <fmt/format.h>

#include <algorithm>

#include "executor/cuda/host_twins.h"
#include "executor/cuda/launch/supports.h"
#include "tests/executor/cuda/device_cases.h"
#include "tests/gpu/check.h"

// Kernels one by one, against the CPU's in fp64 on the same inputs.
namespace plimsoll::gpu {
namespace {

using namespace plimsoll::test;

/// The device in place of the CPU's kernels: operands travel there and back.
CaseOptions on_device(Bench& bench) {
  Device& device = *bench.device();
  const StreamId stream = device.add_stream();
  const auto launch = [&device, stream](const Kernel& kernel, std::span<const OperandView> operands, const LaunchContext& context) {
    std::vector<OperandView> placed(operands.begin(), operands.end());
    for (OperandView& operand : placed) {
      std::byte* memory = device.reserve(std::max(operand.bytes, Bytes(8)));
      device.copy(stream, memory, operand.data, operand.bytes);
      operand.data = memory;
    }
    std::byte* scratch = device.reserve(cuda::scratch_of(kernel) + Bytes(8));
    device.launch(stream, {kernel, placed, context, scratch}, nullptr);
    for (std::size_t i = 0; i < placed.size(); ++i) device.copy(stream, operands[i].data, placed[i].data, placed[i].bytes);
    device.synchronize();
    for (const OperandView& operand : placed) device.release(operand.data);
    device.release(scratch);
  };
  return {.launch = launch};
}

double worst_distance(const KernelCase& c, const Values& found, const Values& expected) {
  double worst = 0;
  for (std::size_t i = 0; i < c.operands.size(); ++i) {
    if (!writes(c.operands[i].access)) continue;
    const double distance = relative_distance(found[i], expected[i]);
    worst = distance > worst || distance != distance ? distance : worst;
  }
  return worst;
}

void compare(Bench& bench, DType dtype, double bound) {
  const CaseOptions options = on_device(bench);
  for (const KernelCase& c : device_cases()) {
    Values inputs = random_values(c);
    if (dtype != DType::kFp32) inputs = rounded(c, std::move(inputs), dtype);
    const double distance = worst_distance(c, run_case(c, inputs, dtype, options), run_case(c, inputs, DType::kFp64));
    bench.add(c.name, distance, distance < bound);
  }
}

void repeat(Bench& bench) {
  const CaseOptions options = on_device(bench);
  const auto check = [&](const KernelCase& c, DType dtype, const Values& inputs) {
    const Values once = run_case(c, inputs, dtype, options);
    int other = 0;
    for (int i = 0; i < 3; ++i) other += run_case(c, inputs, dtype, options) == once ? 0 : 1;
    bench.add(fmt::format("{}, {}", c.name, to_text(dtype)), other, other == 0);
  };
  for (const KernelCase& c : device_cases()) check(c, DType::kFp32, random_values(c, 5));
  for (const KernelCase& c : wide_attentions()) {
    for (const DType dtype : {DType::kBf16, DType::kFp16}) check(c, dtype, rounded(c, random_values(c, 5), dtype));
  }
}

void compare_with_host(Bench& bench) {
  const CaseOptions options = on_device(bench);
  const CaseOptions host{.launch = [](const Kernel& kernel, std::span<const OperandView> operands, const LaunchContext& context) {
    if (!launch_as_on_device(kernel, operands, context)) launch(kernel, operands, context);
  }};
  for (const KernelCase& c : device_cases()) {
    const bool on_both = is_update(c.kind) || c.kind == OpKind::kSquaredNorm || c.kind == OpKind::kClipFactor ||
                         c.kind == OpKind::kAccumulate;
    if (!on_both) continue;
    const Values inputs = random_values(c, 6);
    for (const DType dtype : {DType::kFp32, DType::kBf16, DType::kFp16}) {
      const double distance = worst_distance(c, run_case(c, inputs, dtype, options), run_case(c, inputs, dtype, host));
      bench.add(fmt::format("{}, {}", c.name, to_text(dtype)), distance, distance == 0);
    }
  }
}

}  // namespace

std::vector<Check> value_checks() {
  return {{"kernels-fp32", "relative distance from the CPU's fp64 below 4e-6", [](Bench& b) { compare(b, DType::kFp32, 4e-6); }},
          {"kernels-bf16", "relative distance from the CPU's fp64 below 5e-3", [](Bench& b) { compare(b, DType::kBf16, 5e-3); }},
          {"kernels-fp16", "relative distance from the CPU's fp64 below 7e-4", [](Bench& b) { compare(b, DType::kFp16, 7e-4); }},
          {"kernels-repeat", "0 of 3 repetitions with other bits", repeat},
          {"kernels-on-both-sides", "device and host give the same bits: distance 0", compare_with_host}};
}

}  // namespace plimsoll::gpu
