#include <fmt/format.h>

#include "tests/gpu/check.h"
#include "tests/gpu/kernel_rate.h"

// GPT-2's logits and both products of their backward pass, in rows of its 50,257 words and in the wider rows that graphs have
// (core/graph/logit_columns.h). Told of the first, as an A100's were measured: 482 FLOP a clock and multiprocessor.
namespace plimsoll::gpu {
namespace {

using namespace plimsoll::test;

constexpr std::int64_t kTokens = 8 * 1024, kHidden = 768;

std::vector<KernelCase> products(std::int64_t columns) {
  const OpShape shape{.rows = kTokens, .inputs = kHidden, .outputs = columns};
  const CaseOperand x{kTokens * kHidden, Access::kRead}, weight{columns * kHidden, Access::kRead}, y{kTokens * columns, Access::kRead};
  const auto written = [](CaseOperand operand) { return CaseOperand{operand.elements, Access::kWrite}; };
  return {{"logits", OpKind::kLinear, shape, {x, weight, written(y)}},
          {"their input's gradient", OpKind::kLinearBackwardInput, shape, {y, weight, written(x)}},
          {"their weight's gradient", OpKind::kLinearBackwardWeight, shape, {y, x, written(weight)}}};
}

void compare(Bench& bench) {
  Device& device = *bench.device();
  const DeviceInfo info = device.info();
  for (const DType dtype : {DType::kBf16, DType::kFp16}) {
    if (10 * info.major + info.minor < (dtype == DType::kBf16 ? 80 : 75)) continue;
    const std::vector<KernelCase> narrow = products(50257), wide = products(50264);
    for (std::size_t i = 0; i < wide.size(); ++i) {
      const double words = sustained_flops(device, narrow[i], dtype), columns = sustained_flops(device, wide[i], dtype);
      bench.add(fmt::format("{} in {}", wide[i].name, to_text(dtype)), columns / words, columns > 0.98 * words,
                fmt::format("{:.1f} TFLOP/s in 50,264 columns, {:.1f} in 50,257", columns / 1e12, words / 1e12));
    }
  }
}

}  // namespace

std::vector<Check> logit_checks() {
  return {{"logit-columns", "logits in whole 16 bytes a row are no slower than in rows of their words", compare}};
}

}  // namespace plimsoll::gpu
