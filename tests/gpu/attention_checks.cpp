#include <fmt/format.h>

#include "core/graph/op_work.h"
#include "tests/executor/cuda/attention_cases.h"
#include "tests/gpu/check.h"
#include "tests/gpu/sustained.h"

// Attention by matrix units beside the programs without: heads of four elements fewer are no whole 16 bytes, which
// those take.
namespace plimsoll::gpu {
namespace {

using namespace plimsoll::test;

/// Eight sequences of 1024 tokens: twelve heads of up to 64 elements, as GPT-2 has, or six of up to 128.
OpShape timed_shape(std::int64_t dim) {
  const std::int64_t heads = dim > 64 ? 6 : 12;
  return {.rows = 8 * 1024,
          .sequence = 1024,
          .heads = heads,
          .kv_heads = heads,
          .head_dim = dim,
          .variant = static_cast<std::uint8_t>(AttentionKind::kCausal)};
}

/// FLOP/s of one kernel on numbers that are all the same.
double flops(Device& device, const KernelCase& c, DType dtype) {
  const StreamId stream = device.add_stream();
  std::vector<OperandView> operands;
  for (const CaseOperand& operand : c.operands) {
    const Bytes bytes = operand.elements * Bytes(operand.content == Content::kReal ? size_of(dtype) : 4);
    operands.push_back({.data = device.reserve(bytes), .bytes = bytes, .access = operand.access});
    device.fill(stream, operands.back().data, std::byte{0x3c}, bytes);  // 0.0115 in bf16 and fp32, 1.06 in fp16
  }
  const Kernel kernel{.kind = c.kind, .dtype = dtype, .shape = c.shape};
  const LaunchContext context;
  const double seconds = sustained(device, stream, 0.3, [&] {
    device.launch(stream, {kernel, operands, context, nullptr}, nullptr);
  });
  for (const OperandView& operand : operands) device.release(operand.data);
  return flops_of(c.kind, c.shape) / seconds;
}

void compare(Bench& bench) {
  Device& device = *bench.device();
  const DeviceInfo info = device.info();
  for (const DType dtype : {DType::kBf16, DType::kFp16}) {
    if (10 * info.major + info.minor < (dtype == DType::kBf16 ? 80 : 75)) continue;
    for (const std::int64_t dim : {64, 128}) {
      const std::vector<KernelCase> with = there_and_back("attention", timed_shape(dim));
      const std::vector<KernelCase> without = there_and_back("attention", timed_shape(dim - 4));
      for (std::size_t i = 0; i < with.size(); ++i) {
        const double found = flops(device, with[i], dtype), plain = flops(device, without[i], dtype);
        bench.add(fmt::format("{} of {} in {}", with[i].name, dim, to_text(dtype)), found / plain, found > 2 * plain,
                  fmt::format("{:.1f} TFLOP/s beside {:.1f}", found / 1e12, plain / 1e12));
      }
    }
  }
}

}  // namespace

std::vector<Check> attention_checks() {
  return {{"attention-speed", "matrix units are over 2 times as fast as without", compare}};
}

}  // namespace plimsoll::gpu
