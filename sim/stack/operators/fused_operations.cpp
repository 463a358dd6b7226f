#include "sim/stack/operators/fused_operations.h"

#include "sim/stack/tape/operations.h"

namespace plimsoll {
Tensor fused_gated_product(Tape& tape, const Tensor& a, const Tensor& b) {
  Tensor out = tape.empty(a.shape, a.dtype);
  return tape.record(std::move(out), {&a, &b}, [saved_a = a.detached(), saved_b = b.detached()](Tape&, Tensors) {
    return Tensors{saved_a, saved_b};
  });
}

Tensor fused_rows(Tape& tape, const Tensor& x, const Tensors& saved) {
  Tensor out = tape.empty(x.shape, x.dtype);
  return tape.record(std::move(out), {&x}, [saved, shape = x.shape, dtype = x.dtype](Tape& t, Tensors) {
    return only(t.empty(shape, dtype));
  });
}

Tensor cross_entropy_in_place(Tape& tape, const Tensor& logits) {
  const std::int64_t rows = logits.elements() / logits.size(-1);
  // Losses of the rows, and their parts by the largest logits.
  const Tensor losses = tape.empty({rows}, DType::kFp32);
  const Tensor parts = tape.empty({rows}, DType::kFp32);
  Tensor loss = tape.empty({1}, DType::kFp32);
  return tape.record(std::move(loss), {&logits},
                     [gradient = logits.detached()](Tape&, Tensors) { return only(gradient); });
}

Tensors summed_partials(Tape& tape, std::int64_t multiprocessors, const Tensors& weights) {
  Tensors partials;
  for (const Tensor& weight : weights)
    partials.push_back(tape.empty({multiprocessors, weight.elements()}, DType::kFp32));
  Tensors sums;
  for (const Tensor& weight : weights) sums.push_back(tape.empty(weight.shape, weight.dtype));
  return sums;
}

}  // namespace plimsoll
