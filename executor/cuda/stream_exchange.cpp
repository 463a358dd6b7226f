#include "executor/cuda/stream_exchange.h"

#include <array>

namespace plimsoll {
namespace {

Bytes size_in(std::span<const std::byte> bytes) { return Bytes(static_cast<std::int64_t>(bytes.size())); }

}  // namespace

void StreamExchange::exchange(std::uint32_t, std::span<const OutgoingBytes> out, std::span<const IncomingBytes> in) {
  if (!out.empty() || !in.empty()) links_.exchange(stream_, link_, out, in);
}

void StreamExchange::copy(std::span<std::byte> to, std::span<const std::byte> from) {
  if (!to.empty()) device_.copy(stream_, to.data(), from.data(), size_in(to));
}

void StreamExchange::put_sum(Device& device, StreamId stream, DType dtype, std::span<std::byte> sum,
                             std::span<const std::byte> term) {
  const Kernel add{.kind = OpKind::kAdd,
                   .dtype = dtype,
                   .shape = {.rows = static_cast<std::int64_t>(sum.size()) / size_of(dtype), .inputs = 1}};
  const std::array<OperandView, 3> operands{OperandView{sum.data(), size_in(sum), Access::kRead},
                                            OperandView{const_cast<std::byte*>(term.data()), size_in(term), Access::kRead},
                                            OperandView{sum.data(), size_in(sum), Access::kWrite}};
  const LaunchContext context;
  device.launch(stream, {add, operands, context, nullptr}, nullptr);
}

}  // namespace plimsoll
