#include <fmt/format.h>

#include "tests/executor/cuda/attention_cases.h"
#include "tests/gpu/check.h"
#include "tests/gpu/kernel_rate.h"

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

void compare(Bench& bench) {
  Device& device = *bench.device();
  const DeviceInfo info = device.info();
  for (const DType dtype : {DType::kBf16, DType::kFp16}) {
    if (10 * info.major + info.minor < (dtype == DType::kBf16 ? 80 : 75)) continue;
    for (const std::int64_t dim : {64, 128}) {
      const std::vector<KernelCase> with = there_and_back("attention", timed_shape(dim));
      const std::vector<KernelCase> without = there_and_back("attention", timed_shape(dim - 4));
      for (std::size_t i = 0; i < with.size(); ++i) {
        const double found = sustained_flops(device, with[i], dtype), plain = sustained_flops(device, without[i], dtype);
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
