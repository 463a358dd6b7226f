#include <catch2/catch.hpp>

#include <cstdint>
#include <functional>
#include <map>

#include "sim/stack/tape/operations.h"

namespace plimsoll {
namespace {

/// Bytes of the activations and gradients that are alive now.
Bytes alive(const Tape& tape) {
  Bytes sum;
  for (const StorageEvent& event : tape.log().events()) {
    if (event.holding == Holding::kWorkspace || event.holding == Holding::kParameters) continue;
    if (event.change == StorageChange::kBorn) sum += event.bytes;
    if (event.change == StorageChange::kDied) sum -= event.bytes;
  }
  return sum;
}

double product_flops(const Tape& tape) {
  double flops = 0;
  for (const StackKernel& kernel : tape.kernels()) flops += kernel.sort == StackKernelSort::kProduct ? kernel.flops : 0;
  return flops;
}

struct Layer {
  explicit Layer(Tape& tape, bool trained = true)
      : weights{.weight = &tape.parameter("w", {32, 16}, DType::kFp32, trained), .bias = &tape.parameter("b", {32}, DType::kFp32, trained)} {}
  Weights weights;
};

}  // namespace

TEST_CASE("A linear layer keeps its input for the weight's gradient, and lets it go after backward") {
  Tape tape;
  Layer layer(tape);
  {
    Tensor y;
    {
      const Tensor x = tape.empty({8, 16}, DType::kFp32);
      y = linear(tape, x, layer.weights);
    }
    CHECK(alive(tape).count == 8 * 16 * 4 + 8 * 32 * 4);  // x and y
    tape.phase(Phase::kBackward);
    tape.backward(y, tape.empty({8, 32}, DType::kFp32));
    CHECK(alive(tape).count == 8 * 32 * 4 + 32 * 16 * 4 + 32 * 4);  // y, and the gradients of weight and bias
  }
  CHECK(layer.weights.weight->gradient);
  // Forward 2·8·32·16; backward only the weight's product: x needs no gradient.
  CHECK(product_flops(tape) == 2.0 * 2 * 8 * 32 * 16);
}

TEST_CASE("A frozen layer keeps no input") {
  Tape tape;
  Layer trained(tape);
  Weights frozen{.weight = &tape.parameter("frozen", {16, 32}, DType::kFp32, false)};
  const Tensor x = tape.empty({8, 16}, DType::kFp32);
  const Tensor y = linear(tape, linear(tape, x, trained.weights), frozen);
  CHECK(alive(tape).count == 8 * 16 * 4 + 8 * 16 * 4);  // x and y; what lies between is gone
  tape.backward(y, tape.empty({8, 16}, DType::kFp32));
  CHECK_FALSE(frozen.weight->gradient);
  CHECK(trained.weights.weight->gradient);
}

TEST_CASE("Nothing is kept where gradients are off") {
  Tape tape;
  Layer layer(tape);
  tape.without_grad([&] { linear(tape, linear(tape, tape.empty({8, 16}, DType::kFp32), layer.weights), {.weight = &tape.parameter("v", {4, 32}, DType::kFp32)}); });
  CHECK(alive(tape).count == 0);
}

TEST_CASE("A residual's gradient is shared, and added to in place") {
  Tape tape;
  Parameter& source = tape.parameter("x", {64}, DType::kFp32);
  const Tensor y = add(tape, source.use(), scale(tape, source.use()));
  const Bytes before = alive(tape);
  tape.backward(y, tape.empty({64}, DType::kFp32));
  CHECK((alive(tape) - before).count == 64 * 4);  // one gradient: the sum
}

TEST_CASE("A mask that overwrites runs once forward and once backward") {
  const auto kernels = [](bool masks) {
    Tape tape;
    Layer layer(tape);
    const Tensor y = linear(tape, tape.empty({8, 16}, DType::kFp32), layer.weights);
    const Tensor z = masks ? masked(tape, y) : y;
    tape.phase(Phase::kBackward);
    tape.backward(z, tape.empty({8, 32}, DType::kFp32));
    return tape.kernels();
  };
  const auto with = kernels(true), without = kernels(false);
  REQUIRE(with.size() == without.size() + 2);
  double more = 0;
  for (const StackKernel& kernel : with) more += kernel.bytes;
  for (const StackKernel& kernel : without) more -= kernel.bytes;
  CHECK(more == 2.0 * (8 * 32 * 4 + 8 * 32 * 4));  // each reads and writes 8 x 32 numbers of four bytes
}

TEST_CASE("Autocast casts a weight once a region, and lets the casts go with it") {
  Tape tape;
  Layer layer(tape);
  Tensor y;
  tape.with_autocast(DType::kFp16, [&] {
    const Tensor x = tape.empty({8, 16}, DType::kFp16);
    const Tensor first = linear(tape, x, layer.weights);
    const Tensor second = linear(tape, x, layer.weights);
    y = add(tape, first, second);
  });
  // x once (shared by both), y, and no weight: x needs no gradient, so nobody saved the casts.
  CHECK(alive(tape).count == 8 * 16 * 2 + 8 * 32 * 2);
  tape.backward(y, tape.empty({8, 32}, DType::kFp16));
  CHECK(layer.weights.weight->gradient.dtype == DType::kFp32);
}

TEST_CASE("A checkpoint keeps its input alone and runs its segment once more") {
  Tape tape;
  Layer layer(tape);
  Weights back{.weight = &tape.parameter("v", {16, 32}, DType::kFp32)};
  const auto segment = [&](const Tensor& x) { return linear(tape, from_input(tape, linear(tape, x, layer.weights)), back); };
  Tensor y;
  {
    const Tensor x = tape.empty({8, 16}, DType::kFp32);
    y = checkpoint(tape, x, segment);
  }
  CHECK(alive(tape).count == 2 * 8 * 16 * 4);  // x and y
  const double once = product_flops(tape);
  tape.backward(y, tape.empty({8, 16}, DType::kFp32));
  // Forward again, dV, d inner, dW: the input's own gradient is computed as well, as it stands for an earlier layer's output.
  CHECK(product_flops(tape) == once * 4);
  CHECK(layer.weights.weight->gradient);
  CHECK(back.weight->gradient);
}

TEST_CASE("A checkpoint that stops early does not repeat a last product of which backward keeps nothing") {
  Tape tape(TapeOptions{.stops_early = true});
  Layer layer(tape);
  Weights back{.weight = &tape.parameter("v", {16, 32}, DType::kFp32)};
  const auto products_of = [&](const std::function<Tensor(const Tensor&)>& segment) {
    tape.forget_kernels();
    const Tensor y = checkpoint(tape, tape.empty({8, 16}, DType::kFp32), segment);
    tape.backward(y, tape.empty({8, 16}, DType::kFp32));
    return product_flops(tape);
  };
  const auto inner = [&](const Tensor& x) { return linear(tape, from_input(tape, linear(tape, x, layer.weights)), back); };
  // Each product is 2 · 8 · 16 · 32 = 8192: two forward, the first of them once more, four of gradients.
  CHECK(products_of(inner) == 7 * 8192.0);
  // The sum behind it keeps nothing either.
  CHECK(products_of([&](const Tensor& x) { return add(tape, inner(x), x); }) == 7 * 8192.0);
  // What is kept of the last product, or made of it and kept, has to be there.
  CHECK(products_of([&](const Tensor& x) { return from_input(tape, inner(x)); }) == 8 * 8192.0);
  CHECK(products_of([&](const Tensor& x) { return from_result(tape, inner(x)); }) == 8 * 8192.0);
}

TEST_CASE("Heads between tokens are copied for a product, and not for fused attention") {
  Tape tape;
  Parameter& source = tape.parameter("qkv", {1, 8, 24}, DType::kFp16);
  const auto heads = [&](Tensor part) { return transpose(tape, view(tape, part, {1, 8, 2, 4}), 1, 2); };
  const Tensors parts = split(tape, source.use(), {8, 8, 8});
  const Bytes before = alive(tape);
  {
    const Tensor scores = matmul(tape, heads(parts[0]), transpose(tape, heads(parts[1]), 2, 3));
    CHECK((alive(tape) - before).count == 2 * (8 * 8 * 2) + 2 * 8 * 8 * 2);  // copies of q and k, and the scores
  }
  const Tensor out = fused_attention(tape, heads(parts[0]), heads(parts[1]), heads(parts[2]),
                                     {.heads = 2, .sequence = 8, .keys = 8, .head_dim = 4});
  // The result, the sums of two heads of 8 rows, and two random numbers.
  CHECK((alive(tape) - before).count == 8 * 8 * 2 + 2 * 8 * 4 + 16);
}

TEST_CASE("A walk of gradients within another takes the nodes that both reach, and the outer one goes on with the others") {
  Tape tape;
  Layer reached(tape), other(tape);
  const Tensor x = tape.empty({8, 16}, DType::kFp32);
  const Tensor both = linear(tape, x, reached.weights), outer_alone = linear(tape, x, other.weights);
  const auto backward = [&](Tape& t, Tensors gradients) {
    Tensor inner;
    t.with_grad([&] { inner = scale(t, scale(t, both)); });
    const Tensors asked = t.backward_to({inner}, {t.empty({8, 32}, DType::kFp32)}, {both});
    CHECK(asked.front());
    return Tensors{gradients[0], gradients[0]};
  };
  const Tensor out = tape.record(tape.empty({8, 32}, DType::kFp32), {&both, &outer_alone}, backward);
  tape.backward(out, tape.empty({8, 32}, DType::kFp32));
  CHECK_FALSE(reached.weights.weight->gradient);
  CHECK(other.weights.weight->gradient);
  CHECK(other.weights.bias->gradient);
}

}  // namespace plimsoll
