#include "sim/stack/megatron/rank_rows.h"

#include <utility>

namespace plimsoll {

Waits beside_products(const MegatronCut& cut) { return cut.overlaps ? Waits::kNo : Waits::kYes; }

Tensor all_rows(Tape& tape, const Tensor& x, std::int64_t width, const MegatronCut& cut, Waits waits) {
  if (!cut.sequence_parallel || cut.tensor_ranks < 2) return x.detached();
  Tensor whole = tape.empty({cut.rows(), width}, x.dtype);
  among_tensor_ranks(tape, whole, cut.tensor_ranks, 1, waits);
  return whole;
}

Tensor summed(Tape& tape, Tensor whole, const Shape& own, const MegatronCut& cut, Waits waits) {
  if (cut.tensor_ranks < 2) return whole;
  if (!cut.sequence_parallel) {
    among_tensor_ranks(tape, whole, cut.tensor_ranks, 2, waits);
    return whole;
  }
  among_tensor_ranks(tape, whole, cut.tensor_ranks, 1, waits);
  return tape.empty(own, whole.dtype);
}

Tensor weight_gradient(Tape& tape, Shape shape, DType dtype, const MegatronCut& cut) {
  return cut.own_gradients ? tape.empty(std::move(shape), dtype) : Tensor{};
}

Tensor bias_gradient(Tape& tape, const Tensor& dy, bool there, std::int64_t width) {
  if (!there) return {};
  tape.stream(traffic(dy), dy.dtype);
  return tape.empty({width}, dy.dtype);
}

}  // namespace plimsoll
