#include "sim/stack/operators/fused_operations.h"
#include "sim/stack/operators/operator_programs.h"
#include "sim/stack/tape/operations.h"

namespace plimsoll {
namespace {

/// Rows [M, width] and the norm's vectors. The module of the other provider, made beside it, is alive as well.
struct Rows {
  Parameter* x = nullptr;
  Parameter* weight = nullptr;
  Parameter* bias = nullptr;  ///< or a second weight
};

Rows make_rows(Tape& tape, const OperatorCase& asked, std::int64_t width) {
  return {.x = &tape.parameter("x", {asked["M"], width}, asked.dtype),
          .weight = &tape.parameter("weight", {width}, asked.dtype),
          .bias = &tape.parameter("bias", {width}, asked.dtype)};
}

/// The norm of Llama in PyTorch's operations: in fp32, cast back, then times the weight.
Tensor composed_rms_norm(Tape& tape, const Tensor& input, Parameter& weight) {
  Tensor x = cast(tape, input, DType::kFp32);
  const Tensor variance = mean_of_rows(tape, power(tape, x));
  x = multiply(tape, x, from_result(tape, shift(tape, variance)));
  return multiply(tape, weight.use(), cast(tape, x, input.dtype));
}

/// A norm in one kernel before there were partial sums: a gradient of the weight for each row, in its type, then PyTorch's sum over the rows. The
/// input's gradient takes the place of the result's.
Tensor older_rms_norm(Tape& tape, const Tensor& x, Parameter& parameter) {
  const Tensor weight = parameter.use();
  const Tensor roots = tape.empty({x.elements() / x.size(-1)}, DType::kFp32);
  Tensor out = tape.empty(x.shape, x.dtype);
  return tape.record(std::move(out), {&x, &weight},
                     [roots, saved = x.detached(), shape = weight.detached()](Tape& t, Tensors gradients) {
                       const Tensor rows = t.empty(saved.shape, shape.dtype);
                       Tensor sum = t.empty(shape.shape, shape.dtype);
                       t.sum_rows(rows, sum);
                       return Tensors{gradients[0], std::move(sum)};
                     });
}

OperatorTest layer_norm_test(Tape& tape, const OperatorCase& asked) {
  const Rows rows = make_rows(tape, asked, asked["N"]);
  return {.held = {}, .forward = [&tape, rows] {
            return Tensors{layer_norm(tape, leaf(tape, *rows.x), {.weight = rows.weight, .bias = rows.bias})};
          }};
}

/// As PyTorch's, with partial sums for weight and bias, one row a multiprocessor, before atomic additions took their
/// place.
OperatorTest kernel_layer_norm_test(Tape& tape, const OperatorCase& asked) {
  constexpr std::int64_t kAtomicSince = 600;
  if (!asked.before(kAtomicSince)) return layer_norm_test(tape, asked);
  const Rows rows = make_rows(tape, asked, asked["N"]);
  return {.held = {}, .forward = [&tape, rows, processors = asked.gpu.multiprocessors] {
            const Tensor x = leaf(tape, *rows.x);
            const Tensor weight = rows.weight->use();
            const Tensor bias = rows.bias->use();
            const Tensor mean = tape.empty({x.shape[0]}, x.dtype);
            const Tensor root = tape.empty({x.shape[0]}, x.dtype);
            return Tensors{tape.record(tape.empty(x.shape, x.dtype), {&x, &weight, &bias},
                                       [mean, root, saved = x.detached(), processors,
                                        vectors = Tensors{weight.detached(), bias.detached()}](Tape& t, Tensors) {
                                         Tensors results{t.empty(saved.shape, saved.dtype)};
                                         for (Tensor& sum : summed_partials(t, processors, vectors))
                                           results.push_back(std::move(sum));
                                         return results;
                                       })};
          }};
}

/// The module's weight is fp32, and so is its result then; the gradient has the type of x.
OperatorTest rms_norm_test(Tape& tape, const OperatorCase& asked) {
  Rows rows = make_rows(tape, asked, asked["H"]);
  rows.weight = &tape.parameter("wide weight", {asked["H"]}, DType::kFp32);
  return {.held = {},
          .forward = [&tape, rows] { return Tensors{composed_rms_norm(tape, leaf(tape, *rows.x), *rows.weight)}; },
          .retains_graph = true,
          .gradient_type = asked.dtype};
}

OperatorTest kernel_rms_norm_test(Tape& tape, const OperatorCase& asked) {
  constexpr std::int64_t kPartialSince = 300;
  Rows rows = make_rows(tape, asked, asked["H"]);
  if (!asked.before(kPartialSince)) {
    return {.held = {}, .forward = [&tape, rows, processors = asked.gpu.multiprocessors] {
              return Tensors{kernel_rms_norm(tape, leaf(tape, *rows.x), *rows.weight, {.multiprocessors = processors})};
            }};
  }
  rows.weight = &tape.parameter("wide weight", {asked["H"]}, DType::kFp32);
  rows.x->gradient = rows.x->value;  // taken over in the first repetition: it lies where the result's gradient is held
  return {.held = {},
          .forward = [&tape, rows] { return Tensors{older_rms_norm(tape, leaf(tape, *rows.x), *rows.weight)}; }};
}

using Norm = Tensor (*)(Tape& tape, const Tensor& x, const Rows& rows, std::int64_t multiprocessors);

/// h = x + residual, which goes on beside its norm.
OperatorTest added(Tape& tape, const OperatorCase& asked, Norm norm) {
  const Rows rows = make_rows(tape, asked, asked["H"]);
  Parameter& residual = tape.parameter("residual", rows.x->value.shape, asked.dtype);
  return {.held = {}, .forward = [&tape, rows, &residual, norm, processors = asked.gpu.multiprocessors] {
            const Tensor sum = add(tape, leaf(tape, *rows.x), leaf(tape, residual));
            return Tensors{norm(tape, sum, rows, processors), sum};
          }};
}

OperatorTest added_composed(Tape& tape, const OperatorCase& asked) {
  return added(tape, asked, [](Tape& t, const Tensor& x, const Rows& rows, std::int64_t) {
    return composed_rms_norm(t, x, *rows.weight);
  });
}

/// The benchmark's module multiplies the kernel's result with a weight of its own.
OperatorTest added_kernel(Tape& tape, const OperatorCase& asked) {
  return added(tape, asked, [](Tape& t, const Tensor& x, const Rows& rows, std::int64_t processors) {
    return multiply(t, rows.bias->use(), kernel_rms_norm(t, x, *rows.weight, {.multiprocessors = processors}));
  });
}

/// Sum and norm in one kernel: one gradient serves both addends.
OperatorTest added_fused(Tape& tape, const OperatorCase& asked) {
  const Rows rows = make_rows(tape, asked, asked["H"]);
  Parameter& residual = tape.parameter("residual", rows.x->value.shape, asked.dtype);
  return {.held = {}, .forward = [&tape, rows, &residual, processors = asked.gpu.multiprocessors] {
            const Tensor x = leaf(tape, *rows.x);
            const Tensor r = leaf(tape, residual);
            const Tensor weight = rows.weight->use();
            const Tensor roots = tape.empty({x.shape[0]}, DType::kFp32);
            const Tensor sum = tape.empty(x.shape, x.dtype);
            return tape.record_all(
                {tape.empty(x.shape, x.dtype), sum}, {&x, &r, &weight},
                [roots, saved = sum.detached(), shape = weight.detached(), processors](Tape& t, Tensors) {
                  const Tensor dx = t.empty(saved.shape, saved.dtype);
                  return Tensors{dx, dx, summed_partials(t, processors, {shape}).front()};
                });
          }};
}

/// [M, C, H]: a mean and a root a group.
OperatorTest group_norm_test(Tape& tape, const OperatorCase& asked) {
  const std::int64_t channels = asked["C"];
  Parameter& x = tape.parameter("x", {asked["M"], channels, asked["H"]}, asked.dtype);
  const Tensor statistics = tape.empty({2, asked["M"], channels / asked["channels_per_group"]}, DType::kFp32);
  return {.held = {},
          .forward = [&tape, &x, statistics] { return Tensors{fused_rows(tape, leaf(tape, x), {statistics})}; },
          .always_full = true};
}

}  // namespace

OperatorPrograms norm_programs() {
  return {{"layer_norm", "huggingface", {"M", "N"}, layer_norm_test},
          {"layer_norm", "liger", {"M", "N"}, kernel_layer_norm_test},
          {"rms_norm", "huggingface", {"M", "H"}, rms_norm_test},
          {"rms_norm", "liger", {"M", "H"}, kernel_rms_norm_test},
          {"fused_add_rms_norm", "huggingface", {"M", "H"}, added_composed},
          {"fused_add_rms_norm", "liger_rms_norm", {"M", "H"}, added_kernel},
          {"fused_add_rms_norm", "liger_fused_add_rms_norm", {"M", "H"}, added_fused},
          {"group_norm", "huggingface", {"M", "C", "H", "channels_per_group"}, group_norm_test},
          {"group_norm", "liger", {"M", "C", "H", "channels_per_group"}, group_norm_test}};
}

}  // namespace plimsoll
