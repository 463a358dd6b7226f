#include "sim/stack/operators/elementwise_operations.h"
#include "sim/stack/operators/fused_operations.h"
#include "sim/stack/operators/operator_programs.h"
#include "sim/stack/operators/sparsemax.h"
#include "sim/stack/tape/operations.h"

namespace plimsoll {
namespace {

/// softmax's backward multiplies gradient and result first; log-softmax's does not.
constexpr int kOfSoftmax = 1;
constexpr int kOfLogSoftmax = 0;

/// Distributions over a vocabulary, made once from a leaf of random numbers, and as many of a teacher.
struct Distributions {
  Parameter* leaf = nullptr;
  Tensor student;
  Tensor teacher;
};

std::int64_t tokens_of(const OperatorCase& asked) { return asked.has("BT") ? asked["BT"] : asked["B"] * asked["T"]; }

std::int64_t vocabulary_of(const OperatorCase& asked) { return asked.has("V") ? asked["V"] : asked["vocab_size"]; }

Distributions make(Tape& tape, const OperatorCase& asked) {
  const Shape shape{tokens_of(asked), vocabulary_of(asked)};
  return {.leaf = &tape.parameter("random", shape, asked.dtype),
          .student = tape.empty(shape, asked.dtype),
          .teacher = tape.empty(shape, asked.dtype)};
}

using Loss = Tensor (*)(Tape& tape, const Tensor& student, const Tensor& teacher);

OperatorTest compare(Tape& tape, const OperatorCase& asked, int transients, Loss loss) {
  const Distributions made = make(tape, asked);
  return {.held = {made.student, made.teacher},
          .forward =
              [&tape, made, transients, loss] {
                return Tensors{loss(tape, derived(tape, *made.leaf, made.student, transients), made.teacher)};
              },
          .gradient = ResultGradient::kScalar,
          .retains_graph = true};
}

/// Σ teacher · log teacher − teacher · student.
OperatorTest kl_div_test(Tape& tape, const OperatorCase& asked) {
  return compare(tape, asked, kOfLogSoftmax, [](Tape& t, const Tensor& student, const Tensor& teacher) {
    const Tensor entropy = t.empty(teacher.shape, teacher.dtype);
    return total(t, subtract(t, entropy, multiply(t, teacher, student)));
  });
}

/// A kernel that makes the loss of each row; backward writes one gradient.
OperatorTest kernel_kl_div_test(Tape& tape, const OperatorCase& asked) {
  return compare(tape, asked, kOfLogSoftmax, [](Tape& t, const Tensor& student, const Tensor&) {
    return t.record(t.empty({1}, DType::kFp32), {&student},
                    [shape = student.shape, dtype = student.dtype](Tape& tape_, Tensors) {
                      return Tensors{tape_.empty(shape, dtype)};
                    });
  });
}

/// β·KL(teacher ‖ m) + (1 − β)·KL(student ‖ m), m the mixture of both, all in logarithms.
OperatorTest jsd_test(Tape& tape, const OperatorCase& asked) {
  return compare(tape, asked, kOfLogSoftmax, [](Tape& t, const Tensor& student, const Tensor& teacher) {
    Tensor mixture;
    {
      const Tensor of_teacher = t.empty(teacher.shape, teacher.dtype);
      mixture = scale(t, from_result(t, student));
    }
    const Tensor first = sum_of_rows(t, divergence(t, from_input(t, mixture), teacher));
    const Tensor second = sum_of_rows(t, divergence(t, from_input(t, mixture), student));
    return total(t, add(t, scale(t, first), scale(t, second)));
  });
}

/// A kernel that writes the gradient beside the loss of each place; later versions multiply it by the loss's own
/// gradient.
Tensor kernel_jsd(Tape& tape, const Tensor& student, bool multiplied) {
  const Tensor losses = tape.empty(student.shape, DType::kFp32);
  const Tensor gradient = tape.empty(student.shape, student.dtype);
  return tape.record(tape.empty({1}, DType::kFp32), {&student}, [gradient, multiplied](Tape& t, Tensors) {
    return Tensors{multiplied ? t.empty(gradient.shape, gradient.dtype) : gradient};
  });
}

OperatorTest kernel_jsd_test(Tape& tape, const OperatorCase& asked) {
  constexpr std::int64_t kMultipliesSince = 400;
  return compare(
      tape, asked, kOfLogSoftmax,
      asked.before(kMultipliesSince)
          ? Loss([](Tape& t, const Tensor& student, const Tensor&) { return kernel_jsd(t, student, false); })
          : Loss([](Tape& t, const Tensor& student, const Tensor&) { return kernel_jsd(t, student, true); }));
}

/// Σ ½·|student − teacher|.
OperatorTest tvd_test(Tape& tape, const OperatorCase& asked) {
  return compare(tape, asked, kOfSoftmax, [](Tape& t, const Tensor& student, const Tensor& teacher) {
    return total(t, scale(t, absolute(t, subtract(t, student, teacher))));
  });
}

/// A kernel that writes the gradient beside the loss of each row.
OperatorTest kernel_tvd_test(Tape& tape, const OperatorCase& asked) {
  return compare(tape, asked, kOfSoftmax, [](Tape& t, const Tensor& student, const Tensor&) {
    const Tensor gradient = t.empty(student.shape, student.dtype);
    return t.record(t.empty({1}, DType::kFp32), {&student}, [gradient](Tape&, Tensors) { return Tensors{gradient}; });
  });
}

/// Logits [B·T, V] with a target a row.
OperatorTest cross_entropy_test(Tape& tape, const OperatorCase& asked) {
  const std::int64_t rows = tokens_of(asked);
  Parameter& logits = tape.parameter("logits", {rows, vocabulary_of(asked)}, asked.dtype);
  return {.held = {tape.empty({rows}, kIndexType)},
          .forward = [&tape, &logits] { return Tensors{cross_entropy(tape, leaf(tape, logits))}; },
          .gradient = ResultGradient::kScalar};
}

/// The leaf's gradient shares the logits' place.
OperatorTest kernel_cross_entropy_test(Tape& tape, const OperatorCase& asked) {
  const std::int64_t rows = tokens_of(asked);
  Parameter& logits = tape.parameter("logits", {rows, vocabulary_of(asked)}, asked.dtype);
  logits.gradient = logits.value;
  return {.held = {tape.empty({rows}, kIndexType)},
          .forward = [&tape, &logits] { return Tensors{cross_entropy_in_place(tape, leaf(tape, logits))}; },
          .gradient = ResultGradient::kScalar};
}

/// Rows [B·T, V] in a function of its own that keeps its result alone; forward it is made of PyTorch's operations. Both
/// providers have the same figures.
OperatorTest sparsemax_test(Tape& tape, const OperatorCase& asked) {
  Parameter& x = tape.parameter("x", {tokens_of(asked), vocabulary_of(asked)}, asked.dtype);
  return {.held = {}, .forward = [&tape, &x] {
            const Tensor input = leaf(tape, x);
            Tensor out;
            tape.without_grad([&] { out = sparsemax(tape, input); });
            const Tensor kept = out.detached();
            return Tensors{tape.record(std::move(out), {&input}, [saved = kept](Tape& t, Tensors) {
              return Tensors{t.empty(saved.shape, saved.dtype)};
            })};
          }};
}

}  // namespace

OperatorPrograms distribution_programs() {
  const std::vector<std::string_view> logits{"BT|B", "BT|T", "V|vocab_size"};
  return {{"kl_div", "torch", logits, kl_div_test},
          {"kl_div", "liger", logits, kernel_kl_div_test},
          {"jsd", "torch", logits, jsd_test},
          {"jsd", "liger", logits, kernel_jsd_test},
          {"tvd", "torch", logits, tvd_test},
          {"tvd", "liger", logits, kernel_tvd_test},
          {"cross_entropy", "huggingface", logits, cross_entropy_test},
          {"cross_entropy", "liger", logits, kernel_cross_entropy_test},
          {"sparsemax", "torch", logits, sparsemax_test},
          {"sparsemax", "liger", logits, sparsemax_test}};
}

}  // namespace plimsoll
