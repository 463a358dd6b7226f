#include "sim/stack/modules/sequence_exchange.h"

namespace plimsoll {
namespace {

/// A copy in the exchange's order, what arrives, and a copy in the order of what reads it.
Tensor exchange(Tape& tape, const Tensor& x, const Shape& shape, std::int64_t ranks) {
  Tensor sent = tape.empty(x.shape, x.dtype);
  tape.stream(2 * traffic(x), x.dtype);
  const Tensor arrived = tape.empty(shape, x.dtype);
  tape.launch({.sort = StackKernelSort::kCollective, .dtype = x.dtype, .blocking = true, .among = Among::kTensor, .ranks = ranks,
               .bytes = traffic(x) * static_cast<double>(ranks - 1) / static_cast<double>(ranks)});
  sent = {};
  Tensor out = tape.empty(shape, x.dtype);
  tape.stream(2 * traffic(out), x.dtype);
  return out;
}

Tensor exchanged(Tape& tape, const Tensor& x, const Shape& shape, std::int64_t ranks) {
  return tape.record(exchange(tape, x, shape, ranks), {&x}, [before = x.shape, ranks](Tape& t, Tensors gradients) {
    return only(exchange(t, gradients[0], before, ranks));
  });
}

Tensor to_heads(Tape& tape, const Tensor& x, std::int64_t ranks) {
  const Tensor enough = x.shape[1] < ranks ? repeat_heads(tape, x, ranks / x.shape[1]) : x;
  return exchanged(tape, enough, {x.shape[0], enough.shape[1] / ranks, x.shape[2] * ranks, x.shape[3]}, ranks);
}

}  // namespace

AttentionHeads exchanged_heads(Tape& tape, const AttentionHeads& heads, std::int64_t ranks) {
  AttentionHeads all;
  all.q = to_heads(tape, heads.q, ranks);
  all.k = to_heads(tape, heads.k, ranks);
  all.v = to_heads(tape, heads.v, ranks);
  return all;
}

Tensor exchanged_back(Tape& tape, const Tensor& attended, std::int64_t ranks) {
  return exchanged(tape, attended, {attended.shape[0], attended.shape[1] * ranks, attended.shape[2] / ranks, attended.shape[3]}, ranks);
}

}  // namespace plimsoll
