#include "sim/stack/operators/operator_programs.h"
#include "sim/stack/tape/operations.h"

namespace plimsoll {
namespace {

/// Queries and keys [1, T, heads, H ÷ query heads].
struct Heads {
  Parameter* q = nullptr;
  Parameter* k = nullptr;
  std::int64_t tokens = 0;
  std::int64_t head_dim = 0;
};

Heads make_heads(Tape& tape, const OperatorCase& asked, bool trained) {
  const std::int64_t tokens = asked.has("T") ? asked["T"] : asked["seq_len"];
  const std::int64_t head_dim = (asked.has("H") ? asked["H"] : asked["hidden_size"]) / asked["num_q_heads"];
  return {.q = &tape.parameter("q", {1, tokens, asked["num_q_heads"], head_dim}, asked.dtype, trained),
          .k = &tape.parameter("k", {1, tokens, asked["num_kv_heads"], head_dim}, asked.dtype, trained),
          .tokens = tokens,
          .head_dim = head_dim};
}

/// Positions, and cosines and sines made of them by a product with the frequencies.
Tensors angles(Tape& tape, const Heads& heads, DType dtype) {
  tape.product(1, heads.tokens, heads.head_dim / 2, 1, DType::kFp32);
  const Shape shape{heads.tokens, heads.head_dim};
  return {tape.empty({heads.tokens}, kIndexType), tape.empty(shape, dtype), tape.empty(shape, dtype)};
}

/// x · cos + (−second half, first half) · sin.
Tensor rotated(Tape& tape, const Tensor& x, const Tensor& cosines, const Tensor& sines) {
  const auto half = [&] { return narrow(tape, x, 3, x.size(-1) / 2); };
  const auto turned = [&] {
    const Tensor first = half();
    const Tensor second = half();
    return concatenate(tape, {scale(tape, second), first}, 3);
  };
  const Tensor by_cosine = multiply(tape, x, cosines);
  return add(tape, by_cosine, multiply(tape, turned(), sines));
}

OperatorTest rope_test(Tape& tape, const OperatorCase& asked) {
  const Heads heads = make_heads(tape, asked, true);
  const Tensors held = angles(tape, heads, asked.dtype);
  return {.held = held,
          .forward =
              [&tape, heads, held] {
                const Tensor q = leaf(tape, *heads.q);
                const Tensor k = leaf(tape, *heads.k);
                const Tensor turned_q = rotated(tape, q, held[1], held[2]);
                return Tensors{turned_q, rotated(tape, k, held[1], held[2])};
              },
          .drops_gradients = true};
}

/// Everything happens in place: results lie in q and k, gradients in those of the results.
OperatorTest in_place_rope_test(Tape& tape, const OperatorCase& asked) {
  const Heads heads = make_heads(tape, asked, false);
  Tensors held = angles(tape, heads, asked.dtype);
  held.push_back(tape.empty(heads.q->value.shape, asked.dtype));
  held.push_back(tape.empty(heads.k->value.shape, asked.dtype));
  return {.held = held, .forward = [] { return Tensors{}; }};
}

/// The same with complex turns: kernels read real and imaginary parts in the heads' type, backward negated imaginary
/// ones.
OperatorTest in_place_complex_test(Tape& tape, const OperatorCase& asked) {
  OperatorTest test = in_place_rope_test(tape, asked);
  const Tensor cosines = test.held[1];
  for (int i = 0; i < 3; ++i) test.held.push_back(tape.empty({cosines.elements() / 2}, asked.dtype));
  return test;
}

/// Pairs of numbers as complex ones in fp32, turned, and cast back.
OperatorTest complex_rope_test(Tape& tape, const OperatorCase& asked) {
  const Heads heads = make_heads(tape, asked, true);
  const Tensors held = angles(tape, heads, asked.dtype);
  const Tensor turns = held[1];
  return {.held = held,
          .forward =
              [&tape, heads, turns] {
                const Tensor q = cast(tape, leaf(tape, *heads.q), DType::kFp32);
                const Tensor k = cast(tape, leaf(tape, *heads.k), DType::kFp32);
                const Tensor turned_q = multiply(tape, q, turns);
                const Tensor turned_k = multiply(tape, k, turns);
                return Tensors{cast(tape, turned_q, DType::kBf16), cast(tape, turned_k, DType::kBf16)};
              },
          .drops_gradients = true};
}

}  // namespace

OperatorPrograms rotary_programs() {
  const std::vector<std::string_view> sizes{"T|seq_len", "H|hidden_size", "num_q_heads", "num_kv_heads"};
  return {{"rope", "huggingface", sizes, rope_test},
          {"rope", "liger", sizes, in_place_rope_test},
          {"llama4_rope", "huggingface", sizes, complex_rope_test},
          {"llama4_rope", "liger", sizes, in_place_complex_test}};
}

}  // namespace plimsoll
