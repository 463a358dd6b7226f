#include "sim/stack/tape/operations.h"

namespace plimsoll {
Tensor gather_rows(Tape& tape, const Tensor& x, std::int64_t rows) {
  const Tensor places = tape.empty({rows}, kIndexType);
  Tensor out = tape.empty({rows, x.size(-1)}, x.dtype);
  tape.stream(2 * traffic(out), x.dtype);
  return tape.record(std::move(out), {&x}, [places, shape = x.shape, dtype = x.dtype](Tape& t, Tensors gradients) {
    Tensor whole = t.empty(shape, dtype);
    t.stream(traffic(whole) + 2 * traffic(gradients[0]), dtype);
    return only(std::move(whole));
  });
}

Tensor add_rows(Tape& tape, const Tensor& sum, const Tensor& rows) {
  const Tensor places = tape.empty({rows.shape.front()}, kIndexType);
  tape.stream(3 * traffic(rows), rows.dtype);
  return tape.record(sum.detached(), {&sum, &rows}, [places, shape = rows.shape, dtype = rows.dtype](Tape& t, Tensors gradients) {
    Tensors results(2);
    results[1] = t.empty(shape, dtype);
    t.stream(2 * traffic(results[1]), dtype);
    results[0] = std::move(gradients[0]);
    return results;
  });
}

}  // namespace plimsoll
