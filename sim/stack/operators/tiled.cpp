#include "sim/stack/operators/tiled.h"

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "sim/stack/tape/operations.h"

namespace plimsoll {
namespace {

/// A view of one part of the tokens.
Tensor tile_of(const Tensor& x, std::int64_t tiles) {
  Tensor tile = x.detached();
  tile.shape = {x.elements() / x.size(-1) / tiles, x.size(-1)};
  return tile;
}

/// Parameters whose gradients are not ready before the last tile: what runs when one has been accumulated waits.
class WaitingGradients {
 public:
  explicit WaitingGradients(Tape& tape) : tape_(tape) {
    for (Parameter& parameter : tape.parameters()) waiting_.push_back(std::exchange(parameter.after_gradient, nullptr));
  }
  ~WaitingGradients() {
    std::size_t next = 0;
    for (Parameter& parameter : tape_.parameters()) parameter.after_gradient = std::move(waiting_[next++]);
  }
  WaitingGradients(const WaitingGradients&) = delete;
  WaitingGradients& operator=(const WaitingGradients&) = delete;

 private:
  Tape& tape_;
  std::vector<std::function<void(Parameter&)>> waiting_;
};

void tile_backward(Tape& tape, const Tensor& x, const Tensor& gradient, std::int64_t tiles,
                   const std::function<Tensor(const Tensor&)>& run) {
  Tensor leaf = tile_of(x, tiles);
  leaf.maker = std::make_shared<Node>();
  Tensor out;
  const bool before = tape.is_again();
  tape.again(true);
  tape.with_grad([&] { out = run(leaf); });
  tape.again(before);
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
    {
      const WaitingGradients waiting(t);
      for (std::int64_t i = 0; i + 1 < tiles; ++i) tile_backward(t, saved, gradients[0], tiles, run);
    }
    tile_backward(t, saved, gradients[0], tiles, run);
    return results;
  });
}

}  // namespace plimsoll
