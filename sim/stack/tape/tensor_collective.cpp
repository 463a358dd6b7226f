#include "sim/stack/tape/tensor_collective.h"

namespace plimsoll {

void among_tensor_ranks(Tape& tape, const Tensor& whole, std::int64_t ranks, int rounds, Waits waits) {
  if (ranks < 2) return;
  const auto share = static_cast<double>(ranks - 1) / static_cast<double>(ranks);
  tape.launch({.sort = StackKernelSort::kCollective, .dtype = whole.dtype, .blocking = waits == Waits::kYes, .among = Among::kTensor,
               .rounds = static_cast<std::uint8_t>(rounds), .ranks = ranks, .bytes = rounds * traffic(whole) * share});
}

}  // namespace plimsoll
