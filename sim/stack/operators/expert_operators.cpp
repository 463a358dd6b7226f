#include <algorithm>
#include <cmath>

#include "sim/stack/operators/operator_programs.h"
#include "sim/stack/tape/operations.h"

namespace plimsoll {
namespace {

/// Gated experts: E × (gate and up [2·I, H], down [H, I]), each token sent to K of them.
struct Experts {
  Parameter* x = nullptr;
  Parameter* gate_up = nullptr;
  Parameter* down = nullptr;
  Parameter* shares = nullptr;  ///< [T, K]
  std::int64_t experts = 1;
  std::int64_t tokens = 1;
  std::int64_t chosen = 1;
  std::int64_t inner = 1;
  std::int64_t hidden = 1;
};

Experts make_experts(Tape& tape, const OperatorCase& asked) {
  Experts e{.experts = asked["E"],
            .tokens = asked["T"],
            .chosen = asked["K"],
            .inner = asked["intermediate_dim"],
            .hidden = asked["H"]};
  e.x = &tape.parameter("x", {e.tokens, e.hidden}, asked.dtype);
  e.gate_up = &tape.parameter("gate_up", {e.experts, 2 * e.inner, e.hidden}, asked.dtype);
  e.down = &tape.parameter("down", {e.experts, e.hidden, e.inner}, asked.dtype);
  e.shares = &tape.parameter("shares", {e.tokens, e.chosen}, asked.dtype);
  return e;
}

/// Which tokens go where, and the weights of the other provider's experts.
Tensors beside(Tape& tape, const Experts& e, DType dtype) {
  return {tape.empty({e.tokens, e.chosen}, kIndexType), tape.empty(e.gate_up->value.shape, dtype),
          tape.empty(e.down->value.shape, dtype)};
}

/// Some rows of x: backward fills a tensor like x.
Tensor gathered(Tape& tape, const Tensor& x, const Tensor& rows) {
  Shape shape = x.shape;
  shape[0] = rows.elements();
  return tape.record(
      tape.empty(std::move(shape), x.dtype), {&x},
      [rows, whole = x.shape, dtype = x.dtype](Tape& t, Tensors) { return only(t.empty(whole, dtype)); });
}

/// One expert's matrix: a view, whose gradient is as large as all experts'.
Tensor matrix_of(Tape& tape, const Tensor& all, std::int64_t inputs, std::int64_t outputs) {
  Tensor one = all.detached();
  one.shape = {inputs, outputs};
  return tape.record(std::move(one), {&all},
                     [whole = all.shape, dtype = all.dtype](Tape& t, Tensors) { return only(t.empty(whole, dtype)); });
}

/// Adds rows into `sum` where it lies. index_add's formula keeps what is added.
Tensor add_into_rows(Tape& tape, const Tensor& sum, const Tensor& rows) {
  return tape.record(sum.detached(), {&sum, &rows}, [saved = rows.detached()](Tape& t, Tensors gradients) {
    return Tensors{gradients[0], t.empty(saved.shape, saved.dtype)};
  });
}

struct ExpertLeaves {
  Tensor x, gate_up, down, shares;
};

Tensor expert_output(Tape& tape, const Experts& e, const ExpertLeaves& leaves, const Tensor& rows) {
  const Tensor inputs = gathered(tape, leaves.x, rows);
  const Tensor both = matmul(tape, inputs, matrix_of(tape, leaves.gate_up, e.hidden, 2 * e.inner));
  const Tensors halves = split(tape, both, {e.inner, e.inner});
  const Tensor product = multiply(tape, from_input(tape, halves[0]), halves[1]);
  const Tensor out = matmul(tape, product, matrix_of(tape, leaves.down, e.inner, e.hidden));
  Tensor share = tape.record(
      tape.empty({rows.elements(), 1}, out.dtype), {&leaves.shares},
      [whole = leaves.shares.shape, type = out.dtype](Tape& t, Tensors) { return only(t.empty(whole, type)); });
  return multiply(tape, out, share);
}

/// Tokens that choose expert i: chance scatters them around the mean as Poisson's law has it. Equidistributed instead
/// of random.
std::int64_t tokens_of(const Experts& e, std::int64_t i) {
  constexpr double kGolden = 0.6180339887498949;
  const double mean = static_cast<double>(e.tokens * e.chosen) / static_cast<double>(e.experts);
  const double place = std::fmod((static_cast<double>(i) + 0.5) * kGolden, 1.0);
  const double spread = std::sqrt(3 * mean);  // half the width of a uniform law with that variance
  const double most = static_cast<double>(e.tokens);
  return static_cast<std::int64_t>(std::clamp(std::round(mean + spread * (2 * place - 1)), 1.0, most));
}

/// One expert after another over the tokens that chose it; which those are, a mask of whole numbers [T, K, E] says.
Tensor one_by_one(Tape& tape, const Experts& e) {
  const ExpertLeaves leaves{leaf(tape, *e.x), leaf(tape, *e.gate_up), leaf(tape, *e.down), leaf(tape, *e.shares)};
  const Tensor mask = tape.empty({e.tokens, e.chosen, e.experts}, kIndexType);
  Tensor sum = tape.empty(leaves.x.shape, leaves.x.dtype);
  for (std::int64_t i = 0; i < e.experts; ++i) {
    const std::int64_t rows = tokens_of(e, i);
    const Tensor positions = tape.empty({rows}, kIndexType);
    const Tensor tokens = tape.empty({rows}, kIndexType);
    sum = add_into_rows(tape, sum, expert_output(tape, e, leaves, tokens));
  }
  return sum;
}

OperatorTest looped_test(Tape& tape, const OperatorCase& asked) {
  const Experts e = make_experts(tape, asked);
  return {.held = beside(tape, e, asked.dtype),
          .forward = [&tape, e] { return Tensors{one_by_one(tape, e)}; },
          .retains_graph = true};
}

/// Grouped products over tokens sorted by expert, gathered within the kernels: keeps gate and up before the activation.
Tensor grouped(Tape& tape, const Experts& e) {
  const Tensor x = leaf(tape, *e.x);
  const Tensor gate_up = leaf(tape, *e.gate_up);
  const Tensor down = leaf(tape, *e.down);
  const std::int64_t rows = e.tokens * e.chosen;
  const DType dtype = x.dtype;
  tape.product(1, rows, 2 * e.inner, e.hidden, dtype);
  const Tensor order = tape.empty({2, rows}, kIndexType);
  const Tensor both = tape.empty({rows, 2 * e.inner}, dtype);
  const Tensor product = tape.empty({rows, e.inner}, dtype);
  const Tensor of_experts = tape.empty({rows, e.hidden}, dtype);
  return tape.record(
      tape.empty(x.shape, dtype), {&x, &gate_up, &down},
      [=, saved = both, x = x.detached(), gate_up = gate_up.detached(), down = down.detached()](Tape& t, Tensors) {
        t.product(1, rows, e.inner, e.hidden, dtype);
        Tensor of_gate_up = t.empty(gate_up.shape, dtype);
        Tensor of_down = t.empty(down.shape, dtype);
        { const Tensor turned = t.empty(down.shape, dtype); }  // down-projections with their sides changed
        const Tensor of_product = t.empty({rows, e.inner}, dtype);
        const Tensor of_both = t.empty({rows, 2 * e.inner}, dtype);
        const Tensor of_rows = t.empty({rows, e.hidden}, dtype);
        return Tensors{t.empty(x.shape, dtype), of_gate_up, of_down};
      });
}

OperatorTest grouped_test(Tape& tape, const OperatorCase& asked) {
  const Experts e = make_experts(tape, asked);
  return {.held = beside(tape, e, asked.dtype), .forward = [&tape, e] { return Tensors{grouped(tape, e)}; }};
}

}  // namespace

OperatorPrograms expert_programs() {
  const std::vector<std::string_view> sizes{"T", "E", "H", "intermediate_dim", "K"};
  return {{"fused_moe", "huggingface", sizes, looped_test}, {"fused_moe", "liger", sizes, grouped_test}};
}

}  // namespace plimsoll
