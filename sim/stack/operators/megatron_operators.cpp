#include "sim/stack/operators/fused_operations.h"
#include "sim/stack/operators/operator_programs.h"
#include "sim/stack/tape/operations.h"

namespace plimsoll {
namespace {

/// Logits [S, B, V ÷ tensor ranks] in fp32, a target a token.
struct Logits {
  Parameter* leaf = nullptr;
  Tensor targets;
};

OperatorTest entropy(Tape& tape, const OperatorCase& asked, int copies) {
  const std::int64_t tokens = asked["S"] * asked["B"];
  Parameter& logits = tape.parameter("logits", {tokens, asked["V"] / asked.size_or("TP", 1)}, DType::kFp32);
  return {.held = {tape.empty({tokens}, kIndexType)},
          .forward =
              [&tape, &logits, copies, tokens] {
                const Tensor x = leaf(tape, logits);
                // The exponentials, which backward turns into the gradient where they are.
                Tensors made;
                for (int i = 0; i < copies; ++i) made.push_back(tape.empty(x.shape, x.dtype));
                const Tensor row = tape.empty({tokens}, DType::kFp32);
                return Tensors{tape.record(tape.empty({tokens}, DType::kFp32), {&x},
                                           [saved = made.front(), row](Tape&, Tensors) { return only(saved); })};
              },
          .gradient = ResultGradient::kScalar,
          .drops_gradients = true};
}

OperatorTest in_place_entropy(Tape& tape, const OperatorCase& asked) { return entropy(tape, asked, 1); }
/// The fused kernels subtract the largest logit out of place.
OperatorTest fused_entropy(Tape& tape, const OperatorCase& asked) { return entropy(tape, asked, 2); }

OperatorTest norm(Tape& tape, const OperatorCase& asked, std::int64_t partial_rows) {
  const std::int64_t width = asked["H"];
  Parameter& parameter = tape.parameter("x", {asked["S"] * asked["B"], width}, DType::kBf16);
  Parameter& vector = tape.parameter("weight", {width}, DType::kBf16);
  return {.held = {}, .forward = [&tape, &parameter, &vector, partial_rows] {
            const Tensor x = leaf(tape, parameter);
            const Tensor weight = vector.use();
            const Tensor roots = tape.empty({x.shape[0]}, DType::kFp32);
            return Tensors{tape.record(tape.empty(x.shape, x.dtype), {&x, &weight},
                                       [=, saved = x.detached(), shape = weight.detached()](Tape& t, Tensors) {
                                         Tensors results{t.empty(saved.shape, saved.dtype)};
                                         results.push_back(partial_rows > 0
                                                               ? summed_partials(t, partial_rows, {shape}).front()
                                                               : t.empty(shape.shape, shape.dtype));
                                         return results;
                                       })};
          }};
}

OperatorTest norm_test(Tape& tape, const OperatorCase& asked) { return norm(tape, asked, 0); }
OperatorTest kernel_norm_test(Tape& tape, const OperatorCase& asked) {
  return norm(tape, asked, asked.gpu.multiprocessors);
}

/// SiLU of the first half of [S, B, 2·width], times the second; the result is summed.
OperatorTest gated(Tape& tape, const OperatorCase& asked, Tensor (*forward)(Tape& tape, const Tensor& x)) {
  Parameter& x = tape.parameter("x", {asked["S"] * asked["B"], 2 * asked["ffn_local"]}, DType::kBf16);
  return {.held = {},
          .forward = [&tape, &x, forward] { return Tensors{forward(tape, leaf(tape, x))}; },
          .gradient = ResultGradient::kScalar,
          .drops_gradients = true};
}

Shape half_of(const Tensor& x) { return {x.shape[0], x.shape[1] / 2}; }

OperatorTest plain_gated_test(Tape& tape, const OperatorCase& asked) {
  return gated(tape, asked, [](Tape& t, const Tensor& x) {
    const Tensors halves = split(t, x, {x.shape[1] / 2, x.shape[1] / 2});
    return multiply(t, from_input(t, halves[0]), halves[1]);
  });
}

/// One compiled kernel each way.
OperatorTest compiled_gated_test(Tape& tape, const OperatorCase& asked) {
  return gated(tape, asked, [](Tape& t, const Tensor& x) {
    return t.record(t.empty(half_of(x), x.dtype), {&x}, [saved = x.detached()](Tape& tape_, Tensors) {
      return only(tape_.empty(saved.shape, saved.dtype));
    });
  });
}

/// A kernel that wants the result's gradient as a tensor.
Tensor kernel_gated(Tape& tape, const Tensor& x, bool in_place) {
  return tape.record(tape.empty(half_of(x), x.dtype), {&x},
                     [saved = x.detached(), in_place](Tape& t, Tensors gradients) {
                       const Tensor gradient = t.empty(gradients[0].shape, saved.dtype);
                       return only(in_place ? saved : t.empty(saved.shape, saved.dtype));
                     });
}

OperatorTest kernel_gated_test(Tape& tape, const OperatorCase& asked) {
  return gated(tape, asked, [](Tape& t, const Tensor& x) { return kernel_gated(t, x, false); });
}

OperatorTest in_place_gated_test(Tape& tape, const OperatorCase& asked) {
  OperatorTest test = gated(tape, asked, [](Tape& t, const Tensor& x) { return kernel_gated(t, x, true); });
  Parameter& x = tape.parameters().back();
  x.gradient = x.value;  // where the gradient lies
  test.drops_gradients = false;
  return test;
}

}  // namespace

OperatorPrograms megatron_programs() {
  const std::vector<std::string_view> logits{"S", "B", "V"};
  const std::vector<std::string_view> rows{"S", "B", "H"};
  const std::vector<std::string_view> halves{"S", "B", "ffn_local"};
  return {{"megatron_cross_entropy", "megatron-unfused", logits, in_place_entropy},
          {"megatron_cross_entropy", "megatron-fused", logits, fused_entropy},
          {"megatron_cross_entropy", "liger", logits, in_place_entropy},
          {"megatron_rms_norm", "torch", rows, norm_test},
          {"megatron_rms_norm", "megatron", rows, norm_test},
          {"megatron_rms_norm", "liger", rows, kernel_norm_test},
          {"megatron_swiglu", "torch", halves, plain_gated_test},
          {"megatron_swiglu", "megatron", halves, compiled_gated_test},
          {"megatron_swiglu", "liger", halves, kernel_gated_test},
          {"megatron_swiglu", "liger_in_place", halves, in_place_gated_test}};
}

}  // namespace plimsoll
