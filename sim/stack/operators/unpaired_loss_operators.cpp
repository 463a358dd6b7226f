#include <utility>

#include "sim/stack/operators/elementwise_operations.h"
#include "sim/stack/operators/operator_programs.h"
#include "sim/stack/tape/operations.h"

namespace plimsoll {
namespace {

// Losses of single examples beside a reference model; the hidden states are no leaves.

/// Head and bias of the policy, as many of the reference, and both of the other provider.
struct Unpaired {
  Parameter* weight = nullptr;
  Parameter* bias = nullptr;
  Tensor x;
  Tensors held;
};

Unpaired make_unpaired(Tape& tape, const OperatorCase& asked) {
  const Shape states{asked["B"], asked["T"], asked["H"]};
  Unpaired made{.weight = &tape.parameter("head", {asked["V"], asked["H"]}, asked.dtype),
                .bias = &tape.parameter("bias", {asked["V"]}, asked.dtype),
                .x = tape.empty(states, asked.dtype),
                .held = {tape.empty(states, asked.dtype), tape.empty({asked["B"], asked["T"]}, kIndexType)}};
  for (int i = 0; i < 3; ++i) {
    made.held.push_back(tape.empty(made.weight->value.shape, asked.dtype));
    made.held.push_back(tape.empty(made.bias->value.shape, asked.dtype));
  }
  return made;
}

/// Logits plus bias, log-probabilities in fp32, and copies of the logits of chosen and rejected examples that are handed back
/// with them; then the reference's, in their own type and without a gradient.
OperatorTest eager_unpaired_test(Tape& tape, const OperatorCase& asked) {
  const Unpaired made = make_unpaired(tape, asked);
  return {.held = made.held,
          .forward =
              [&tape, made] {
                Tensor probabilities;
                Tensor copies;
                {
                  const Tensor outputs = add(tape, linear(tape, made.x, {.weight = made.weight}), made.bias->use());
                  const Tensor logits = cast(tape, outputs, DType::kFp32);
                  probabilities = from_result(tape, logits);
                  copies = tape.empty(logits.shape, logits.dtype);
                }
                const Tensor loss = total(tape, picked_of_rows(tape, std::exchange(probabilities, {})));
                tape.without_grad([&] {
                  const Tensor outputs = add(tape, linear(tape, made.x, {.weight = made.weight}), made.bias->use());
                  const Tensor reference = from_result(tape, outputs);
                });
                return Tensors{loss};
              },
          .gradient = ResultGradient::kScalar};
}

/// One example a chunk: gradients of head and bias beside their sums, the logits' gradient, and log-probabilities as large.
OperatorTest unpaired_test(Tape& tape, const OperatorCase& asked) {
  const Unpaired made = make_unpaired(tape, asked);
  return {.held = made.held,
          .forward =
              [&tape, made, logits = Shape{asked["T"], asked["V"]}] {
                const Tensor weight = made.weight->use();
                const Tensor bias = made.bias->use();
                const Tensor dx = tape.empty(made.x.shape, made.x.dtype);
                const Tensors sums{tape.empty(weight.shape, weight.dtype), tape.empty(bias.shape, bias.dtype)};
                tape.product(1, logits[0], logits[1], weight.shape[1], weight.dtype);
                {
                  const Tensors parts{tape.empty(weight.shape, weight.dtype), tape.empty(bias.shape, bias.dtype)};
                  const Tensors of_chunk{tape.empty(logits, weight.dtype), tape.empty(logits, weight.dtype)};
                }
                return Tensors{tape.record(tape.empty({1}, DType::kFp32), {&weight, &bias},
                                           [sums, dx, type = weight.dtype](Tape& t, Tensors) {
                                             t.product(1, 1, 1, 1, type);  // as in in_chunks
                                             return sums;
                                           })};
              },
          .gradient = ResultGradient::kScalar};
}

}  // namespace

OperatorPrograms unpaired_loss_programs() {
  const std::vector<std::string_view> sequences{"B", "T", "H", "V"};
  return {{"kto_loss", "huggingface", sequences, eager_unpaired_test}, {"kto_loss", "liger", sequences, unpaired_test}};
}

}  // namespace plimsoll
