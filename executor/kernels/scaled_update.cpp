#include "executor/kernels/scaled_update.h"

#include <algorithm>
#include <cstring>

#include "executor/kernels/loops.h"

namespace plimsoll {
namespace {

/// Operands that are only read stand together: of an update in place the gradient and the factor, else the old weights and
/// states before them.
std::size_t end_of_reads(std::span<const OperandView> operands) {
  const auto is_read = [](const OperandView& operand) { return operand.access == Access::kRead; };
  const auto first = std::find_if(operands.begin(), operands.end(), is_read);
  return static_cast<std::size_t>(std::find_if_not(first, operands.end(), is_read) - operands.begin());
}

}  // namespace

const LossScale& factor_of(std::span<const OperandView> update) {
  return *reinterpret_cast<const LossScale*>(update[end_of_reads(update) - 1].data);
}

void keep_states(const Kernel& update, std::span<const OperandView> operands) {
  const std::size_t reads = end_of_reads(operands);
  const std::size_t kept = operands[0].access == Access::kReadWrite ? 0 : reads - 2;
  for (std::size_t i = 0; i < kept; ++i) {
    std::memcpy(operands[reads + i].data, operands[i].data, static_cast<std::size_t>(operands[i].bytes.count));
  }
  const OperandView& published = operands[reads + kept];
  const auto* weights = reinterpret_cast<const float*>(operands[0].data);
  const std::int64_t elements = published.bytes.count / size_of(update.dtype);
  conversions<Fp16>().round(elements, weights, reinterpret_cast<Fp16*>(published.data));
}

void publish_states(const Kernel& update, std::span<const OperandView> operands) {
  const std::size_t reads = end_of_reads(operands);
  if (reads == operands.size()) return;  // compute reads what the optimizer keeps
  const OperandView& published = operands[reads];
  const auto* weights = reinterpret_cast<const float*>(operands[0].data);
  const std::int64_t elements = published.bytes.count / size_of(update.dtype);
  if (update.dtype == DType::kFp16) return conversions<Fp16>().round(elements, weights, reinterpret_cast<Fp16*>(published.data));
  conversions<Bf16>().round(elements, weights, reinterpret_cast<Bf16*>(published.data));
}

}  // namespace plimsoll
