#include "sim/stack/tape/operations.h"

namespace plimsoll {
namespace {

/// A leaf that wants a gradient and has no parameter.
Tensor as_leaf(const Tensor& x) {
  Tensor leaf = x.detached();
  leaf.maker = std::make_shared<Node>();
  return leaf;
}

Tensors run_again(Tape& tape, const Tensor& x, const std::function<Tensor(const Tensor&)>& segment, std::optional<DType> autocast,
                  Tensors gradients) {
  const Tensor leaf = as_leaf(x);
  Tensor out;
  const bool before = tape.is_again();
  tape.again(true);
  tape.with_grad([&] {
    if (autocast) {
      tape.with_autocast(autocast, [&] { out = segment(leaf); });
    } else {
      out = segment(leaf);
    }
  });
  tape.again(before);
  out.storage.reset();  // its history is enough
  return tape.backward_to({out}, std::move(gradients), {leaf});
}

}  // namespace

Tensor checkpoint(Tape& tape, const Tensor& x, const std::function<Tensor(const Tensor&)>& segment) {
  Tensor out;
  tape.without_grad([&] { out = segment(x); });
  // The segment trains parameters of its own: it is part of the graph even where x needs no gradient.
  Tensor input = x;
  if (!input.needs_gradient()) input = as_leaf(x);
  return tape.record(out.detached(), {&input}, [saved = x.detached(), segment, autocast = tape.autocast()](Tape& t, Tensors gradients) {
    return run_again(t, saved, segment, autocast, std::move(gradients));
  });
}

}  // namespace plimsoll
