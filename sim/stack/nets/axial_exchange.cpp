#include "sim/stack/nets/axial_exchange.h"

#include "sim/stack/tape/operations.h"

namespace plimsoll {
namespace {

/// Of a tensor of which each rank has a part already.
void send_rest(Tape& tape, const Tensor& of, std::int64_t ranks) {
  const auto n = static_cast<double>(ranks);
  tape.launch({.sort = StackKernelSort::kCollective, .dtype = of.dtype, .blocking = true, .among = Among::kTensor,
               .ranks = ranks, .bytes = traffic(of) * (n - 1) / n});
}

Tensor exchanged(Tape& tape, const Tensor& x, std::size_t whole, std::size_t cut, std::int64_t ranks) {
  Shape shape = x.shape;
  shape[whole] *= ranks;
  shape[cut] /= ranks;
  tape.stream(2 * traffic(x), x.dtype);  // parts for others are put in order
  send_rest(tape, x, ranks);
  return tape.empty(std::move(shape), x.dtype);
}

}  // namespace

Tensor gather_ranks(Tape& tape, const Tensor& x, std::size_t dimension, std::int64_t ranks) {
  if (ranks < 2) return x;
  Shape shape = x.shape;
  shape[dimension] *= ranks;
  Tensor out = tape.empty(std::move(shape), x.dtype);
  send_rest(tape, out, ranks);
  return tape.record(std::move(out), {&x}, [before = x.shape, dtype = x.dtype, ranks](Tape& t, Tensors gradients) {
    send_rest(t, gradients[0], ranks);
    return only(t.empty(before, dtype));
  });
}

Tensor exchange_ranks(Tape& tape, const Tensor& x, std::size_t whole, std::size_t cut, std::int64_t ranks) {
  if (ranks < 2) return x;
  return tape.record(exchanged(tape, x, whole, cut, ranks), {&x}, [whole, cut, ranks](Tape& t, Tensors gradients) {
    return only(exchanged(t, gradients[0], cut, whole, ranks));
  });
}

}  // namespace plimsoll
