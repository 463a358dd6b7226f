#include <catch2/catch.hpp>
#include <cmath>

#include "tests/executor/kernels/kernel_case.h"

// Backward kernels in fp64 against central differences of the forward kernels.
namespace plimsoll::test {
namespace {

struct Wanted {
  std::string forward;
  std::size_t forward_output;
  std::size_t forward_input;  ///< with respect to which the gradient is taken
  std::string backward;
  std::size_t backward_gradient;                                  ///< where the kernel writes it
  std::vector<std::pair<std::size_t, std::size_t>> from_forward;  ///< (backward operand, forward operand it repeats)
  std::size_t dy;                                                 ///< backward operand with the gradient of the output
};

// Central differences err by a sixth of step² times the third derivative, and by rounding, 1e-16 of the value over the
// step. A mean over many rows has small slopes beside its value and takes the longer step.
constexpr double kStep = 1e-5;
constexpr double kStepOfLoss = 3e-4;

/// Derivative of Σ dy · forward(inputs) along `direction` in one input.
double derivative(const Wanted& w, Values inputs, const std::vector<double>& dy, const std::vector<double>& direction,
                  double step = kStep) {
  const KernelCase forward = case_named(w.forward);
  const std::vector<double> at = inputs[w.forward_input];
  double sum = 0;
  for (const double sign : {1.0, -1.0}) {
    for (std::size_t i = 0; i < at.size(); ++i) inputs[w.forward_input][i] = at[i] + sign * step * direction[i];
    const std::vector<double> y = run_case(forward, inputs, DType::kFp64)[w.forward_output];
    for (std::size_t i = 0; i < y.size(); ++i) sum += sign * dy[i] * y[i];
  }
  return sum / (2 * step);
}

/// Along random directions, and along some single coordinates: a random direction sees every element, a coordinate sees
/// one.
std::vector<std::vector<double>> directions(std::size_t count) {
  std::vector<std::vector<double>> all;
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    const KernelCase draw{"direction", OpKind::kAdd, {}, {{static_cast<std::int64_t>(count), Access::kRead}}};
    all.push_back(random_values(draw, 100 + seed)[0]);
  }
  for (const std::size_t at : {std::size_t{0}, count / 3, count / 2, count - 1}) {
    all.emplace_back(count, 0.0);
    all.back()[at] = 1;
  }
  return all;
}

/// Compares a gradient with derivatives along directions; an element may err by 1e-6 of the typical one.
template <typename DerivativeAlong>
void check_directions(const std::vector<double>& gradient, const DerivativeAlong& derivative_along) {
  double size = 0;
  for (const double g : gradient) size += g * g;
  size = std::sqrt(size / static_cast<double>(gradient.size()));
  for (const std::vector<double>& direction : directions(gradient.size())) {
    double along = 0;
    for (std::size_t i = 0; i < gradient.size(); ++i) along += gradient[i] * direction[i];
    const double difference = derivative_along(direction);
    INFO(along << " and " << difference << ", typical element " << size);
    CHECK(std::abs(along - difference) < 1e-6 * std::max({std::abs(along), std::abs(difference), size}));
  }
}

void check_gradient(const Wanted& w) {
  const KernelCase forward = case_named(w.forward), backward = case_named(w.backward);
  INFO(w.backward << ", operand " << w.backward_gradient);
  const Values forward_inputs = random_values(forward);
  const Values forward_results = run_case(forward, forward_inputs, DType::kFp64);
  Values inputs = random_values(backward, 2);
  for (const auto& [to, from] : w.from_forward) inputs[to] = forward_results[from];
  const std::vector<double> before = inputs[w.backward_gradient];
  std::vector<double> gradient = run_case(backward, inputs, DType::kFp64)[w.backward_gradient];
  if (backward.operands[w.backward_gradient].access == Access::kReadWrite && w.backward_gradient != w.dy) {
    for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] -= before[i];  // the kernel adds
  }
  check_directions(gradient,
                   [&](const auto& direction) { return derivative(w, forward_inputs, inputs[w.dy], direction); });
}

TEST_CASE("embedding gradients are those of the embedding") {
  check_gradient({"embedding", 2, 1, "embedding backward", 2, {{0, 0}}, 1});
  check_gradient({"embedding, scaled", 2, 1, "embedding backward, scaled", 2, {{0, 0}}, 1});
  check_gradient({"embedding with positions", 3, 1, "embedding backward, tied, with positions", 2, {{0, 0}}, 1});
  check_gradient({"embedding with positions", 3, 2, "embedding backward, tied, with positions", 3, {{0, 0}}, 1});
}

TEST_CASE("the gradients of what begins and ends a sequence are those of its forward kernels") {
  const std::vector<std::pair<std::size_t, std::size_t>> batch{{0, 0}, {2, 3}};
  check_gradient({"embedding with types", 5, 1, "embedding backward, with types", 3, batch, 1});
  check_gradient({"embedding with types", 5, 2, "embedding backward, with types", 4, batch, 1});
  check_gradient({"embedding with types", 5, 4, "embedding backward, with types", 5, batch, 1});
  for (const std::size_t operand : {1, 2, 3}) {
    check_gradient({"class token", 3, operand - 1, "class token backward", operand, {}, 0});
  }
  check_gradient({"first token", 1, 0, "first token backward", 1, {}, 0});
}

TEST_CASE("norm gradients are those of the norms, added where the plan says so") {
  const std::vector<std::pair<std::size_t, std::size_t>> layer{{1, 0}, {2, 1}, {3, 4}}, rms{{1, 0}, {2, 1}, {3, 3}};
  check_gradient({"layer norm", 3, 0, "layer norm backward", 4, layer, 0});
  check_gradient({"layer norm", 3, 1, "layer norm backward", 5, layer, 0});
  check_gradient({"layer norm", 3, 2, "layer norm backward", 6, layer, 0});
  check_gradient({"rms norm", 2, 0, "rms norm backward, added", 4, rms, 0});
  check_gradient({"rms norm", 2, 1, "rms norm backward, added", 5, rms, 0});
}

TEST_CASE("gradients of norms whose weight counts from one are those of the norms") {
  const std::vector<std::pair<std::size_t, std::size_t>> rms{{1, 0}, {2, 1}, {3, 3}};
  check_gradient({"rms norm plus one", 2, 0, "rms norm plus one backward", 4, rms, 0});
  check_gradient({"rms norm plus one", 2, 1, "rms norm plus one backward", 5, rms, 0});
}

TEST_CASE("head norm gradients are those of the head norms, in place of what they come from") {
  for (const std::string name : {"head norm", "head norm plus one"}) {
    const std::vector<std::pair<std::size_t, std::size_t>> repeated{{1, 0}, {2, 1}, {3, 2}, {4, 4}};
    check_gradient({name, 3, 0, name + " backward", 0, repeated, 0});
    check_gradient({name, 3, 1, name + " backward", 5, repeated, 0});
    check_gradient({name, 3, 2, name + " backward", 6, repeated, 0});
  }
}

TEST_CASE("linear gradients are those of the linear layer") {
  check_gradient({"linear with bias", 3, 0, "linear backward input", 2, {{1, 1}}, 0});
  check_gradient({"linear", 2, 1, "linear backward weight", 2, {{1, 0}}, 0});
  check_gradient({"linear with bias", 3, 1, "linear backward weight and bias", 2, {{1, 0}}, 0});
  check_gradient({"linear with bias", 3, 2, "linear backward weight and bias", 3, {{1, 0}}, 0});
}

TEST_CASE("gradients of each expert's linear layer are those of the layer, and of rows that stand empty there is none") {
  check_gradient({"expert linear", 3, 0, "expert linear backward input", 3, {{1, 1}, {2, 2}}, 0});
  check_gradient({"expert linear", 3, 1, "expert linear backward weight", 3, {{1, 0}, {2, 2}}, 0});
  check_gradient({"expert linear with bias", 4, 1, "expert linear backward weight and bias", 3, {{1, 0}, {2, 3}}, 0});
  check_gradient({"expert linear with bias", 4, 2, "expert linear backward weight and bias", 4, {{1, 0}, {2, 3}}, 0});
}

TEST_CASE("gradients of what goes to the experts and comes back are those of its sums") {
  check_gradient({"dispatch", 2, 0, "dispatch backward", 2, {{1, 1}}, 0});
  check_gradient({"combine", 3, 0, "combine backward", 4, {{1, 0}, {2, 1}, {3, 2}}, 0});
  check_gradient({"combine", 3, 1, "combine backward", 5, {{1, 0}, {2, 1}, {3, 2}}, 0});
  check_gradient({"expert dropout", 0, 0, "expert dropout", 0, {{1, 1}}, 0});
}

TEST_CASE("the gradient of a rotation is the rotation back") {
  for (const std::string heads : {"4", "2", "1"}) {
    check_gradient({"rope, " + heads + " kv heads", 0, 0, "rope backward, " + heads + " kv heads", 0, {}, 0});
  }
  check_gradient({"rope, of six elements", 0, 0, "rope backward, of six elements", 0, {}, 0});
  check_gradient({"rope, stretched", 0, 0, "rope backward, stretched", 0, {}, 0});
  check_gradient({"rope, beside stretched ones", 0, 0, "rope backward, beside stretched ones", 0, {}, 0});
}

TEST_CASE("attention gradients are those of attention, also where heads share keys") {
  for (const std::string heads : {"4", "2", "1"}) {
    check_gradient({"attention, " + heads + " kv heads",
                    1,
                    0,
                    "attention backward, " + heads + " kv heads",
                    4,
                    {{0, 0}, {1, 1}, {2, 2}},
                    3});
    check_gradient({"full attention, " + heads + " kv heads", 1, 0, "full attention backward, " + heads + " kv heads", 4,
                    {{0, 0}, {1, 1}, {2, 2}}, 3});
    check_gradient({"padded attention, " + heads + " kv heads", 2, 0, "padded attention backward, " + heads + " kv heads", 5,
                    {{0, 0}, {1, 1}, {2, 2}, {3, 3}}, 4});
  }
}

TEST_CASE(
    "gradients of attention with a bias, of that bias and of its table, and of attention to another sequence are "
    "theirs") {
  const std::vector<std::pair<std::size_t, std::size_t>> repeated{{0, 0}, {1, 1}, {2, 2}, {3, 3}};
  for (const std::string of : {", causal", ", full"}) {
    check_gradient({"distance bias" + of, 1, 0, "distance bias backward" + of, 1, {}, 0});
    for (const std::string heads : {", 4 kv heads", ", 2 kv heads"}) {
      const std::string forward = "biased attention" + of + heads, backward = "biased attention backward" + of + heads;
      check_gradient({forward, 2, 0, backward, 5, repeated, 4});
      check_gradient({forward, 2, 1, backward, 6, repeated, 4});
      check_gradient({forward, 2, 1, backward + ", adding", 6, repeated, 4});
    }
  }
  for (const std::string heads : {", 4 kv heads", ", 2 kv heads"}) {
    check_gradient({"cross attention" + heads, 2, 0, "cross attention backward" + heads, 5, repeated, 4});
    check_gradient({"cross attention" + heads, 2, 1, "cross attention backward" + heads, 6, repeated, 4});
  }
}

TEST_CASE("activation gradients are those of the activations") {
  for (const std::string name : {"gelu", "gelu tanh", "swiglu", "geglu tanh", "tanh", "squared relu"}) {
    check_gradient({name, 1, 0, name + " backward", 2, {{0, 0}}, 1});
  }
}

TEST_CASE("what cross entropy leaves is the gradient of the loss, scaled by rows over terms") {
  for (const std::string targets : {"", " of labels"}) {
    const KernelCase loss = case_named("loss" + targets), cross = case_named("cross entropy" + targets);
    const Values inputs = random_values(loss);
    const std::vector<double> gradient = run_case(cross, inputs, DType::kFp64)[0];
    const double rows_over_terms = static_cast<double>(cross.shape.rows) / static_cast<double>(cross.shape.terms);
    check_directions(gradient, [&](const auto& direction) {
      return derivative({"loss" + targets, 2, 0, "", 0, {}, 0}, inputs, {rows_over_terms}, direction, kStepOfLoss);
    });
  }
}

}  // namespace
}  // namespace plimsoll::test
