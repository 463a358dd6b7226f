#include "sim/stack/modules/rank_tokens.h"

#include <utility>

#include "sim/stack/tape/fp8_products.h"
#include "sim/stack/tape/tensor_collective.h"

namespace plimsoll {
namespace {

/// In another order: a pass over memory.
Tensor reordered(Tape& tape, const Tensor& x) {
  tape.stream(2 * traffic(x), x.dtype);
  return tape.empty(x.shape, x.dtype);
}

Tensor gathered(Tape& tape, const Tensor& own, std::int64_t ranks) {
  Shape shape = own.shape;
  shape[1] *= ranks;
  const Tensor arrived = tape.empty(std::move(shape), own.dtype);
  among_tensor_ranks(tape, arrived, ranks, 1, Waits::kYes);
  return own.shape[0] == 1 ? arrived : reordered(tape, arrived);
}

/// A compiled program lets go of what has been put into order; in eager code a caller has it.
Tensor scattered(Tape& tape, Tensor parts, std::int64_t ranks) {
  Shape shape = parts.shape;
  shape[1] /= ranks;
  const Tensor sent = reordered(tape, parts);
  if (tape.is_compiled()) parts = {};
  among_tensor_ranks(tape, sent, ranks, 1, Waits::kYes);
  return tape.empty(std::move(shape), sent.dtype);
}

Tensor in_rows(Tape& tape, const Tensor& x, bool fp8) { return fp8 ? to_fp8(tape, x, {.rows = true}).rows : x; }

}  // namespace

Tensor all_tokens(Tape& tape, const Tensor& own, std::int64_t ranks, bool fp8) {
  if (ranks < 2) return own;
  Tensor out = gathered(tape, in_rows(tape, own, fp8), ranks);
  return tape.record(std::move(out), {&own}, [ranks](Tape& t, Tensors gradients) {
    return only(scattered(t, std::move(gradients[0]), ranks));
  });
}

Tensor own_tokens(Tape& tape, Tensor parts, std::int64_t ranks, bool fp8) {
  if (ranks < 2) return parts;
  const Tensor made_from{.storage = nullptr, .shape = parts.shape, .dtype = parts.dtype, .order = {}, .maker = parts.maker,
                         .output = parts.output, .parameter = parts.parameter};
  Tensor out = tape.results_of(StackKernelSort::kCollective, [&] { return Tensors{scattered(tape, std::move(parts), ranks)}; }).front();
  return tape.record(std::move(out), {&made_from}, [ranks, fp8](Tape& t, Tensors gradients) {
    return only(gathered(t, in_rows(t, gradients[0], fp8), ranks));
  });
}

namespace {

/// A maximum, a sum and a target's logit of every row.
void exchange_rows(Tape& tape, const Tensor& logits, std::int64_t ranks) {
  const Tensor rows = tape.empty({logits.elements() / logits.size(-1)}, DType::kFp32);
  for (int exchange = 0; exchange < 3; ++exchange) among_tensor_ranks(tape, rows, ranks, 2, Waits::kYes);
}

}  // namespace

Tensor divided_cross_entropy(Tape& tape, const Tensor& logits, std::int64_t ranks) {
  const double whole = traffic(logits);
  Tensor shifted = tape.empty(logits.shape, DType::kFp32);
  tape.stream(3 * whole);  // the maximum is looked for, then taken off
  tape.empty(logits.shape, DType::kFp32);
  tape.stream(3 * whole);  // exponentials and their sum
  exchange_rows(tape, logits, ranks);
  const Tensor log_probabilities = tape.empty(logits.shape, DType::kFp32);
  tape.stream(2 * whole);
  shifted = {};
  return tape.record(tape.empty({1}, DType::kFp32), {&logits}, [log_probabilities, whole](Tape& t, Tensors) {
    const Tensor targets = t.empty(log_probabilities.shape, DType::kFp32);  // zeros, but for them
    t.stream(whole);
    Tensor shares = t.empty(log_probabilities.shape, DType::kFp32);
    t.stream(2 * whole);
    const Tensor sum = t.empty(log_probabilities.shape, DType::kFp32);
    t.stream(3 * whole);
    shares = {};
    t.stream(2 * whole);  // by the loss's gradient
    return only(t.empty(log_probabilities.shape, DType::kFp32));
  });
}

Tensor compiled_divided_cross_entropy(Tape& tape, const Tensor& logits, std::int64_t ranks) {
  tape.pass(traffic(logits), logits.dtype);
  tape.pass(traffic(logits), logits.dtype);
  exchange_rows(tape, logits, ranks);
  Tensor targets = tape.empty(logits.shape, DType::kFp32);
  tape.pass(traffic(targets), DType::kFp32);
  const Tensor kept = tape.empty(logits.shape, DType::kFp32);
  tape.pass(traffic(logits) + traffic(targets) + traffic(kept), DType::kFp32);
  targets = {};
  return tape.record(tape.empty({1}, DType::kFp32), {&logits}, [kept, type = logits.dtype](Tape& t, Tensors) {
    Tensor gradient = t.empty(kept.shape, type);
    t.pass(traffic(kept) + traffic(gradient), type);
    return only(std::move(gradient));
  });
}

}  // namespace plimsoll
