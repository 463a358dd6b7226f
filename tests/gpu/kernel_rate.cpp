#include "tests/gpu/kernel_rate.h"

#include <vector>

#include "core/graph/op_work.h"
#include "tests/gpu/sustained.h"

namespace plimsoll::gpu {

double sustained_flops(Device& device, const test::KernelCase& c, DType dtype) {
  const StreamId stream = device.add_stream();
  std::vector<OperandView> operands;
  for (const test::CaseOperand& operand : c.operands) {
    const Bytes bytes = operand.elements * Bytes(operand.content == test::Content::kReal ? size_of(dtype) : 4);
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

}  // namespace plimsoll::gpu
