#include "sim/stack/operators/fused_operations.h"

#include "sim/stack/tape/operations.h"

namespace plimsoll {
namespace {

/// Heads as they lie by token; what lies otherwise is copied.
Tensor by_token(Tape& tape, const Tensor& heads) {
  const Tensor rows = contiguous(tape, transpose(tape, heads.detached(), 1, 2));
  tape.stream(2 * traffic(rows), rows.dtype);
  return transpose(tape, rows, 1, 2);
}

}  // namespace

Tensor fused_gated_product(Tape& tape, const Tensor& a, const Tensor& b) {
  const Tensor saved_a = contiguous(tape, a.detached());
  const Tensor saved_b = contiguous(tape, b.detached());
  Tensor out = tape.empty(a.shape, a.dtype);
  tape.stream(3 * traffic(out), out.dtype);
  return tape.record(std::move(out), {&a, &b}, [saved_a, saved_b](Tape& t, Tensors) {
    t.stream(5 * traffic(saved_a), saved_a.dtype);
    return Tensors{saved_a, saved_b};
  });
}

Tensor kernel_rms_norm(Tape& tape, const Tensor& x, Parameter& parameter, const NormKernel& kernel) {
  const Tensor weight = parameter.use();
  Tensor out = tape.empty(x.shape, x.dtype);
  out.order = x.order;
  const Tensor roots = tape.empty({x.elements() / x.size(-1)}, DType::kFp32);
  tape.stream(2 * traffic(x), x.dtype);
  const Tensor trained = weight.needs_gradient() ? weight.detached() : Tensor{};
  return tape.record(std::move(out), {&x, &weight}, [roots, kernel, trained, saved = x.detached()](Tape& t, Tensors gradients) {
    Tensors results(2);
    results[0] = kernel.in_place ? std::move(gradients[0]) : t.empty(saved.shape, saved.dtype);
    results[0].order = saved.order;
    t.stream(3 * traffic(saved), saved.dtype);
    if (trained) results[1] = summed_partials(t, kernel.multiprocessors, {trained}).front();
    return results;
  });
}

Tensor rotated_in_place(Tape& tape, const Tensor& x, bool backward_too) {
  return tape.record(by_token(tape, x), {&x}, [backward_too](Tape& t, Tensors gradients) {
    if (backward_too) return only(by_token(t, gradients[0]));
    Tensor turned = t.empty(gradients[0].shape, gradients[0].dtype);
    turned.order = gradients[0].order;
    t.stream(2 * traffic(turned), turned.dtype);
    return only(std::move(turned));
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
