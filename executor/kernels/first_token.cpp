#include "executor/kernels/kernels.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll::kernels {

template <typename S>
void first_token(const OpShape& s, Operands operands, const LaunchContext& context) {
  const S* x = array<S>(operands, 0);
  S* y = array<S>(operands, 1);
  context.pool->run(s.rows, [&](std::int64_t row, std::int64_t) {
    const S* first = x + row * s.sequence * s.inputs;
    std::copy(first, first + s.inputs, y + row * s.inputs);
  });
}

template <typename S>
void first_token_backward(const OpShape& s, Operands operands, const LaunchContext& context) {
  const S* dy = array<S>(operands, 0);
  S* dx = array<S>(operands, 1);
  context.pool->run(s.rows, [&](std::int64_t row, std::int64_t) {
    const S* of_first = dy + row * s.inputs;
    S* out = std::copy(of_first, of_first + s.inputs, dx + row * s.sequence * s.inputs);
    std::fill(out, out + (s.sequence - 1) * s.inputs, S{});
  });
}

PLIMSOLL_INSTANTIATE_HALF_KERNEL(first_token);
PLIMSOLL_INSTANTIATE_HALF_KERNEL(first_token_backward);

}  // namespace plimsoll::kernels
