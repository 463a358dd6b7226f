#include "sim/stack/operators/tiled_linear_loss.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "sim/stack/tape/operations.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kTileRows = 4096, kTileWords = 32768;
/// A row's sums while the forward pass runs: the largest, four sums, the target's logit and the largest before it.
constexpr std::int64_t kRunningSums = 7;

struct TiledHead {
  Tensor x, weight;
  DType narrow = DType::kFp32;  ///< of the products

  [[nodiscard]] std::int64_t rows() const { return x.elements() / x.size(-1); }
  [[nodiscard]] std::int64_t words() const { return weight.shape[0]; }
  [[nodiscard]] std::int64_t hidden() const { return weight.shape[1]; }
};

/// Nothing where the type is right already.
Tensor cast_part(Tape& tape, const Shape& shape, DType from, DType to) {
  if (from == to) return {};
  Tensor made = tape.empty(shape, to);
  tape.stream(traffic(made) + static_cast<double>(made.elements() * size_of(from)), to);
  return made;
}

Tensor make_tile(Tape& tape, const TiledHead& head) { return tape.empty({std::min(head.rows(), kTileRows), kTileWords}, head.narrow); }

/// What the products read, in their type; names of a loop's, which hold what they had until they get the next.
struct Operands {
  Tensor states, weight;
};

using TileWork = std::function<void(std::int64_t rows, std::int64_t words)>;

/// Calls `work` with every tile's rows and words after its logits were made of `read`.
void for_each_tile(Tape& tape, const TiledHead& head, Operands& read, const TileWork& work) {
  for (std::int64_t row = 0; row < head.rows(); row += kTileRows) {
    const std::int64_t rows = std::min(kTileRows, head.rows() - row);
    read.states = cast_part(tape, {rows, head.hidden()}, head.x.dtype, head.narrow);
    for (std::int64_t word = 0; word < head.words(); word += kTileWords) {
      const std::int64_t words = std::min(kTileWords, head.words() - word);
      read.weight = cast_part(tape, {words, head.hidden()}, head.weight.dtype, head.narrow);
      tape.product(1, rows, words, head.hidden(), head.narrow);
      work(rows, words);
    }
  }
}

double tile_bytes(const TiledHead& head, std::int64_t rows, std::int64_t words) { return static_cast<double>(rows * words * size_of(head.narrow)); }

/// Log-probabilities, sums and entropies that stay.
Tensors run_forward(Tape& tape, const TiledHead& head) {
  const Tensor running = tape.empty({kRunningSums, head.rows()}, DType::kFp32);
  const Tensor tile = make_tile(tape, head);
  Operands read;
  for_each_tile(tape, head, read, [&](std::int64_t rows, std::int64_t words) {
    read.weight = {};  // has no name there
    tape.stream(tile_bytes(head, rows, words), head.narrow);
  });
  return {tape.empty({head.rows()}, DType::kFp32), tape.empty({head.rows()}, DType::kFp32), tape.empty({head.rows()}, DType::kFp32)};
}

/// What a product is added to is read and written once more.
void add_product(Tape& tape, std::int64_t m, std::int64_t n, std::int64_t k, DType narrow, bool turned) {
  turned ? tape.turned_product(1, m, n, k, narrow) : tape.product(1, m, n, k, narrow);
  tape.stream(2.0 * static_cast<double>(m * n * size_of(DType::kFp32)), DType::kFp32);
}

/// A sum in fp32 as its owner's type has it.
Tensor as_own(Tape& tape, Tensor sum, DType own) {
  Tensor cast = cast_part(tape, sum.shape, DType::kFp32, own);
  return cast ? cast : sum;
}

Tensors run_backward(Tape& tape, const TiledHead& head) {
  const auto zeros = [&](const Shape& shape) {
    Tensor made = tape.empty(shape, DType::kFp32);
    tape.stream(traffic(made), DType::kFp32);
    return made;
  };
  const Tensor dx = zeros(head.x.shape);
  const Tensor dweight = head.weight.needs_gradient() ? zeros(head.weight.shape) : Tensor{};
  const Tensor tile = make_tile(tape, head);
  Operands read;
  tape.again(true);  // logits are made for the second time; gradients' products come once
  for_each_tile(tape, head, read, [&](std::int64_t rows, std::int64_t words) {
    tape.again(false);
    tape.stream(2 * tile_bytes(head, rows, words), head.narrow);
    add_product(tape, rows, head.hidden(), words, head.narrow, false);
    if (dweight) add_product(tape, words, head.hidden(), rows, head.narrow, true);
    tape.again(true);
  });
  tape.again(false);
  Tensor own_x = as_own(tape, dx, head.x.dtype);
  Tensor own_weight = dweight ? as_own(tape, dweight, head.weight.dtype) : Tensor{};
  own_weight.is_view = true;
  return {std::move(own_x), std::move(own_weight)};
}

}  // namespace

Tensor tiled_linear_cross_entropy(Tape& tape, const Tensor& x, Parameter& parameter) {
  const Tensor weight = parameter.use();
  const TiledHead head{.x = x, .weight = weight, .narrow = tape.autocast().value_or(x.dtype)};
  Tensors kept;
  tape.without_grad([&] { kept = run_forward(tape, head); });
  TiledHead saved = head;
  saved.x = x.detached();
  return tape.record(tape.empty({1}, DType::kFp32), {&x, &weight}, [saved, kept](Tape& t, Tensors) { return run_backward(t, saved); });
}

}  // namespace plimsoll
