#include "sim/stack/tape/checkpoint_all.h"

namespace plimsoll {
namespace {

using Segment = std::function<Tensors(const Tensors&)>;

/// A leaf that wants a gradient and has no parameter.
Tensor leaf_of(const Tensor& x) {
  Tensor leaf = x.detached();
  leaf.maker = std::make_shared<Node>();
  return leaf;
}

Tensors leaves_of(const Tensors& all) {
  Tensors leaves;
  for (const Tensor& one : all) leaves.push_back(leaf_of(one));
  return leaves;
}

Tensors run_again(Tape& tape, const Tensors& saved, const Segment& segment, std::optional<DType> autocast, Tensors gradients) {
  const Tensors leaves = leaves_of(saved);
  Tensors outs;
  const bool before = tape.is_again();
  tape.again(true);
  tape.with_grad([&] { tape.with_autocast(autocast, [&] { outs = segment(leaves); }); });
  tape.again(before);
  for (Tensor& out : outs) out.storage.reset();  // their history is enough
  return tape.backward_to(outs, std::move(gradients), leaves);
}

}  // namespace

Tensors checkpoint_all(Tape& tape, const Tensors& inputs, const Segment& segment) {
  Tensors outs;
  tape.without_grad([&] { outs = segment(inputs); });
  Tensors wanted;
  Tensors saved;
  for (const Tensor& input : inputs) {
    wanted.push_back(input.needs_gradient() ? input : leaf_of(input));
    saved.push_back(input.detached());
  }
  std::vector<const Tensor*> names;
  for (const Tensor& one : wanted) names.push_back(&one);
  for (Tensor& out : outs) out = out.detached();
  return tape.record_all(std::move(outs), names, [saved, segment, autocast = tape.autocast()](Tape& t, Tensors gradients) {
    return run_again(t, saved, segment, autocast, std::move(gradients));
  });
}

}  // namespace plimsoll
