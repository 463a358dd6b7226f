#include "sim/stack/tape/operations.h"

namespace plimsoll {
namespace {

/// A leaf that wants a gradient and has no parameter.
Tensor as_leaf(const Tensor& x) {
  Tensor leaf = x.detached();
  leaf.maker = std::make_shared<Node>();
  return leaf;
}

Tensors run_again(Tape& tape, const Tensors& saved, const std::function<Tensor(const Tensors&)>& segment, std::optional<DType> autocast,
                  Tensors gradients) {
  Tensors leaves;
  for (const Tensor& x : saved) leaves.push_back(as_leaf(x));
  Tensor out;
  const bool before = tape.is_again();
  const std::size_t first = tape.kernels().size();
  tape.again(true);
  tape.with_grad([&] {
    if (autocast) {
      tape.with_autocast(autocast, [&] { out = segment(leaves); });
    } else {
      out = segment(leaves);
    }
  });
  tape.again(before);
  out.storage.reset();  // its history is enough
  if (tape.options().stops_early) tape.forget_last_product(first);
  return tape.backward_to({out}, std::move(gradients), leaves);
}

Tensor moved(Tape& tape, const Tensor& x, StackKernelSort way) {
  tape.launch({.sort = way, .dtype = x.dtype, .bytes = traffic(x)});
  return x;
}

}  // namespace

Tensor checkpoint(Tape& tape, const Tensor& x, const std::function<Tensor(const Tensor&)>& segment, bool to_host) {
  Tensor out;
  tape.without_grad([&] { out = segment(x); });
  // The segment trains parameters of its own: it is part of the graph even where x needs no gradient.
  Tensor input = x;
  if (!input.needs_gradient()) input = as_leaf(x);
  if (to_host) moved(tape, x, StackKernelSort::kToHost);
  const Tensor shape{.storage = nullptr, .shape = x.shape, .dtype = x.dtype};
  const Tensor kept = to_host ? shape : x.detached();
  return tape.record(out.detached(), {&input}, [kept, segment, autocast = tape.autocast()](Tape& t, Tensors gradients) {
    const Tensor saved = kept ? kept : moved(t, t.empty(kept.shape, kept.dtype), StackKernelSort::kToDevice);
    return run_again(t, {saved}, [&segment](const Tensors& read) { return segment(read.front()); }, autocast, std::move(gradients));
  });
}

Tensor checkpoint(Tape& tape, const Tensors& inputs, const std::function<Tensor(const Tensors&)>& segment) {
  Tensor out;
  tape.without_grad([&] { out = segment(inputs); });
  Tensors kept;
  std::vector<const Tensor*> read;
  for (const Tensor& x : inputs) {
    kept.push_back(x.detached());
    read.push_back(&x);
  }
  return tape.record(out.detached(), read, [kept, segment, autocast = tape.autocast()](Tape& t, Tensors gradients) {
    return run_again(t, kept, segment, autocast, std::move(gradients));
  });
}

Tensor selective_checkpoint(Tape& tape, const Tensor& x, const std::function<Tensor(const Tensor&)>& segment, bool to_host) {
  const auto kept = std::make_shared<KeptResults>();
  // What was kept is forgotten when the segment has run for the second time.
  return checkpoint(tape, x, [&tape, kept, segment](const Tensor& input) {
    Tensor out;
    tape.with_kept(*kept, [&] { out = segment(input); });
    const bool drops_ends = !kept->again && tape.is_compiled();
    if (drops_ends && kept->ends_with_collective) kept->kept.pop_back();
    if (drops_ends && kept->products % 2 == 1) kept->kept.pop_back();
    kept->again = true;
    kept->products = 0;
    return out;
  }, to_host);
}

}  // namespace plimsoll
