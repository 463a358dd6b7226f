#include "sim/stack/modules/in_place.h"

namespace plimsoll {

Tensor overwritten(Tape& tape, const Tensor& x) {
  tape.stream(2 * traffic(x), x.dtype);
  return tape.record(x.detached(), {&x}, [](Tape& t, Tensors gradients) {
    Tensor gradient = t.empty(gradients[0].shape, gradients[0].dtype);
    t.stream(2 * traffic(gradient), gradient.dtype);
    return only(std::move(gradient));
  });
}

Tensor copied(Tape& tape, const Tensor& x) {
  Tensor out = tape.empty(x.shape, x.dtype);
  tape.stream(2 * traffic(x), x.dtype);
  return tape.record(std::move(out), {&x}, [](Tape&, Tensors gradients) { return only(std::move(gradients[0])); });
}

}  // namespace plimsoll
