#include "sim/stack/operators/tiled.h"

#include <memory>

#include "sim/stack/tape/operations.h"

namespace plimsoll {
namespace {

/// A view of one part of the tokens.
Tensor tile_of(const Tensor& x, std::int64_t tiles) {
  Tensor tile = x.detached();
  tile.shape = {x.elements() / x.size(-1) / tiles, x.size(-1)};
  return tile;
}

void tile_backward(Tape& tape, const Tensor& x, const Tensor& gradient, std::int64_t tiles,
                   const std::function<Tensor(const Tensor&)>& run) {
  Tensor leaf = tile_of(x, tiles);
  leaf.maker = std::make_shared<Node>();
  Tensor out;
  tape.with_grad([&] { out = run(leaf); });
  tape.backward_to({out}, {tile_of(gradient, tiles)}, {leaf});
}

}  // namespace

Tensor tiled(Tape& tape, const Tensor& x, std::int64_t tiles, const std::function<Tensor(const Tensor&)>& run) {
  Tensor out;
  tape.without_grad([&] {
    Tensors parts;
    for (std::int64_t i = 0; i < tiles; ++i) parts.push_back(run(tile_of(x, tiles)));
    out = concatenate(tape, parts, 0);
  });
  out.shape = x.shape;
  return tape.record(std::move(out), {&x}, [saved = x.detached(), tiles, run](Tape& t, Tensors gradients) {
    Tensors results(1);
    results[0] = t.empty(saved.shape, saved.dtype);
    for (std::int64_t i = 0; i < tiles; ++i) tile_backward(t, saved, gradients[0], tiles, run);
    return results;
  });
}

}  // namespace plimsoll
