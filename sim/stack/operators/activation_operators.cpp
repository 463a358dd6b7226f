#include "sim/stack/operators/fused_operations.h"
#include "sim/stack/operators/operator_programs.h"
#include "sim/stack/tape/operations.h"

namespace plimsoll {
namespace {

/// The benchmarks of these two hand a single row to the operator.
Parameter& row(Tape& tape, const OperatorCase& asked) { return tape.parameter("x", {asked["N"]}, asked.dtype); }

OperatorTest softmax_test(Tape& tape, const OperatorCase& asked) {
  Parameter& x = row(tape, asked);
  return {.held = {}, .forward = [&tape, &x] {
            const Tensor input = leaf(tape, x);
            return Tensors{softmax(tape, input, input.dtype)};
          }};
}

/// Keeps its result and writes one gradient.
OperatorTest kernel_test(Tape& tape, const OperatorCase& asked) {
  Parameter& x = row(tape, asked);
  return {.held = {}, .forward = [&tape, &x] { return Tensors{fused_rows(tape, leaf(tape, x), {})}; }};
}

OperatorTest relu_squared_test(Tape& tape, const OperatorCase& asked) {
  Parameter& x = row(tape, asked);
  return {.held = {}, .forward = [&tape, &x] { return Tensors{power(tape, from_result(tape, leaf(tape, x)))}; }};
}

}  // namespace

OperatorPrograms activation_programs() {
  return {{"softmax", "torch", {"N"}, softmax_test},
          {"softmax", "liger", {"N"}, kernel_test},
          {"relu_squared", "torch", {"N"}, relu_squared_test},
          {"relu_squared", "liger", {"N"}, kernel_test}};
}

}  // namespace plimsoll
