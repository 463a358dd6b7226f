// Every update rule against the formulas of its paper, written out in double.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "tests/executor/kernels/kernel_case.h"
#include "tests/executor/kernels/update_case.h"

namespace plimsoll::test {
namespace {

constexpr std::int64_t kSteps = 5;

using Numbers = std::vector<double>;

/// Updates one tensor's weights for step t (from 1); `state` is the reference's own, empty before the first step.
using Reference = std::function<void(const Recipe& r, const UpdatedTensor& shape, double t, const Numbers& g, Numbers& w,
                                     std::vector<Numbers>& state)>;

double norm_of(const Numbers& x) {
  double sum = 0;
  for (const double value : x) sum += value * value;
  return std::sqrt(sum);
}

double decay_of(const Recipe& r, const UpdatedTensor& shape) { return shape.decays ? r.weight_decay : 0; }

/// Gradient descent with L2 regularisation and Polyak's or Nesterov's momentum (Sutskever et al. 2013, section 2, in the form
/// of torch.optim.SGD: the velocity sums gradients).
void momentum(const Recipe& r, const UpdatedTensor& shape, double, const Numbers& g, Numbers& w, std::vector<Numbers>& state) {
  const double mu = r.optimizer == OptimizerKind::kSgd ? 0 : r.momentum;
  state.resize(1, Numbers(w.size(), 0));
  for (std::size_t i = 0; i < w.size(); ++i) {
    const double slope = g[i] + decay_of(r, shape) * w[i];
    double& velocity = state[0][i];
    velocity = mu * velocity + slope;
    w[i] -= r.learning_rate * (r.nesterov ? slope + mu * velocity : velocity);
  }
}

/// Adam (Kingma and Ba 2015, algorithm 1); with L2 in the gradient, or decoupled (Loshchilov and Hutter 2019, algorithm 2).
void adam(const Recipe& r, const UpdatedTensor& shape, double t, const Numbers& g, Numbers& w, std::vector<Numbers>& state) {
  state.resize(2, Numbers(w.size(), 0));
  const bool decoupled = r.optimizer != OptimizerKind::kAdam;
  for (std::size_t i = 0; i < w.size(); ++i) {
    const double slope = g[i] + (decoupled ? 0 : decay_of(r, shape) * w[i]);
    state[0][i] = r.beta1 * state[0][i] + (1 - r.beta1) * slope;
    state[1][i] = r.beta2 * state[1][i] + (1 - r.beta2) * slope * slope;
    const double m = state[0][i] / (1 - std::pow(r.beta1, t)), v = state[1][i] / (1 - std::pow(r.beta2, t));
    if (decoupled) w[i] -= r.learning_rate * decay_of(r, shape) * w[i];
    w[i] -= r.learning_rate * m / (std::sqrt(v) + r.epsilon);
  }
}

/// Lion (Chen et al. 2023, algorithm 2).
void lion(const Recipe& r, const UpdatedTensor& shape, double, const Numbers& g, Numbers& w, std::vector<Numbers>& state) {
  state.resize(1, Numbers(w.size(), 0));
  for (std::size_t i = 0; i < w.size(); ++i) {
    const double c = r.beta1 * state[0][i] + (1 - r.beta1) * g[i];
    const double sign = c > 0 ? 1 : c < 0 ? -1 : 0;
    w[i] -= r.learning_rate * (sign + decay_of(r, shape) * w[i]);
    state[0][i] = r.beta2 * state[0][i] + (1 - r.beta2) * g[i];
  }
}

/// LAMB (You et al. 2020, algorithm 2), φ(z) = z; tensors that do not decay are not adapted, as in the paper's own code.
void lamb(const Recipe& r, const UpdatedTensor& shape, double t, const Numbers& g, Numbers& w, std::vector<Numbers>& state) {
  state.resize(2, Numbers(w.size(), 0));
  Numbers direction(w.size());
  for (std::size_t i = 0; i < w.size(); ++i) {
    state[0][i] = r.beta1 * state[0][i] + (1 - r.beta1) * g[i];
    state[1][i] = r.beta2 * state[1][i] + (1 - r.beta2) * g[i] * g[i];
    const double m = state[0][i] / (1 - std::pow(r.beta1, t)), v = state[1][i] / (1 - std::pow(r.beta2, t));
    direction[i] = m / (std::sqrt(v) + r.epsilon) + decay_of(r, shape) * w[i];
  }
  const double ratio = shape.decays ? norm_of(w) / norm_of(direction) : 1;
  for (std::size_t i = 0; i < w.size(); ++i) w[i] -= r.learning_rate * ratio * direction[i];
}

/// LARS (You, Gitman and Ginsburg 2017, algorithm 1).
void lars(const Recipe& r, const UpdatedTensor& shape, double, const Numbers& g, Numbers& w, std::vector<Numbers>& state) {
  state.resize(1, Numbers(w.size(), 0));
  const double local = shape.decays ? r.trust * norm_of(w) / (norm_of(g) + r.weight_decay * norm_of(w)) : 1;
  for (std::size_t i = 0; i < w.size(); ++i) {
    state[0][i] = r.momentum * state[0][i] + r.learning_rate * local * (g[i] + decay_of(r, shape) * w[i]);
    w[i] -= state[0][i];
  }
}

/// Adafactor (Shazeer and Stern 2018, algorithms 4 and 5; the smallest square as torch.optim.Adafactor has it).
void adafactor(const Recipe& r, const UpdatedTensor& shape, double t, const Numbers& g, Numbers& w, std::vector<Numbers>& state) {
  const auto rows = static_cast<std::size_t>(shape.rows), columns = static_cast<std::size_t>(shape.columns);
  const double decay = 1 - std::pow(t, -0.8), n = static_cast<double>(w.size());
  if (state.empty() && rows > 1) state.emplace_back(rows, 0);
  if (state.size() == (rows > 1 ? 1 : 0)) state.emplace_back(columns, 0);
  Numbers square(w.size()), sums_of_rows(rows, 0), sums_of_columns(columns, 0);
  for (std::size_t i = 0; i < w.size(); ++i) {
    sums_of_rows[i / columns] += g[i] * g[i];
    sums_of_columns[i % columns] += g[i] * g[i];
  }
  double mean = 0;
  for (std::size_t i = 0; rows > 1 && i < rows; ++i) {
    state[0][i] = decay * state[0][i] + (1 - decay) * sums_of_rows[i] / static_cast<double>(columns);
    mean += state[0][i] / static_cast<double>(rows);
  }
  Numbers& last = state.back();
  for (std::size_t j = 0; j < columns; ++j) {
    last[j] = decay * last[j] + (1 - decay) * sums_of_columns[j] / static_cast<double>(rows);
  }
  for (std::size_t i = 0; i < w.size(); ++i) square[i] = rows > 1 ? state[0][i / columns] * last[i % columns] / mean : last[i];
  Numbers direction(w.size());
  for (std::size_t i = 0; i < w.size(); ++i) direction[i] = g[i] / std::sqrt(std::max(square[i], r.epsilon * r.epsilon));
  const double relative = std::max(1e-3, norm_of(w) / std::sqrt(n)) * std::min(r.learning_rate, 1 / std::sqrt(t));
  const double step = (r.relative_step ? relative : r.learning_rate) / std::max(1.0, norm_of(direction) / std::sqrt(n));
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = w[i] * (1 - r.learning_rate * decay_of(r, shape)) - step * direction[i];
}

/// SM3-II (Anil et al. 2019, section 3) with rows and columns as covers; decay is decoupled.
void sm3(const Recipe& r, const UpdatedTensor& shape, double, const Numbers& g, Numbers& w, std::vector<Numbers>& state) {
  const auto rows = static_cast<std::size_t>(shape.rows), columns = static_cast<std::size_t>(shape.columns);
  if (state.empty()) state = {Numbers(rows, rows > 1 ? 0 : HUGE_VAL), Numbers(columns, 0)};
  Numbers new_rows(rows, 0), new_columns(columns, 0);
  for (std::size_t i = 0; i < w.size(); ++i) {
    const double sum = std::min(state[0][i / columns], state[1][i % columns]) + g[i] * g[i];
    w[i] = w[i] * (1 - r.learning_rate * decay_of(r, shape)) - r.learning_rate * (sum > 0 ? g[i] / std::sqrt(sum) : 0);
    new_rows[i / columns] = std::max(new_rows[i / columns], sum);
    new_columns[i % columns] = std::max(new_columns[i % columns], sum);
  }
  if (rows > 1) state[0] = new_rows;
  state[1] = new_columns;
}

double in_bf16(double x) {
  int exponent = 0;
  const double mantissa = std::frexp(static_cast<float>(x), &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(mantissa, 8)), exponent - 8);
}

/// a·b of m × k and k × n numbers, row by row, and `to` times what stands in `start`, rounded once to bf16.
Numbers product(std::size_t m, std::size_t k, std::size_t n, const Numbers& a, const Numbers& b, double by, const Numbers& start = {},
                double to = 0) {
  Numbers c(m * n, 0);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t l = 0; l < k; ++l) {
      for (std::size_t j = 0; j < n; ++j) c[i * n + j] += a[i * k + l] * b[l * n + j];
    }
  }
  for (std::size_t i = 0; i < c.size(); ++i) c[i] = in_bf16(by * c[i] + (to != 0 ? to * start[i] : 0));
  return c;
}

Numbers transposed(std::size_t rows, std::size_t columns, const Numbers& x) {
  Numbers y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i % columns * rows + i / columns] = x[i];
  return y;
}

/// Five quintic steps over the shorter side, matrices in bf16 (Jordan et al. 2024, as torch.optim.Muon).
Numbers orthogonalized(std::size_t rows, std::size_t columns, Numbers x) {
  if (rows > columns) return transposed(columns, rows, orthogonalized(columns, rows, transposed(rows, columns, x)));
  for (double& value : x) value = in_bf16(value);
  const double norm = in_bf16(norm_of(x));
  for (double& value : x) value = in_bf16(value / norm);
  for (int step = 0; step < 5; ++step) {
    const Numbers gram = product(rows, columns, rows, x, transposed(rows, columns, x), 1);
    const Numbers polynomial = product(rows, rows, rows, gram, gram, 2.0315, gram, -4.7750);
    x = product(rows, rows, columns, polynomial, x, 1, x, 3.4445);
  }
  return x;
}

/// Muon of matrices (Jordan et al. 2024), AdamW of all else.
void muon(const Recipe& r, const UpdatedTensor& shape, double t, const Numbers& g, Numbers& w, std::vector<Numbers>& state) {
  if (shape.rows == 1) return adam(r, shape, t, g, w, state);
  state.resize(1, Numbers(w.size(), 0));
  Numbers joined(w.size());
  for (std::size_t i = 0; i < w.size(); ++i) {
    state[0][i] = r.momentum * state[0][i] + (1 - r.momentum) * g[i];
    joined[i] = (1 - r.momentum) * g[i] + r.momentum * state[0][i];
  }
  const auto rows = static_cast<std::size_t>(shape.rows), columns = static_cast<std::size_t>(shape.columns);
  const Numbers direction = orthogonalized(rows, columns, joined);
  const double rate = r.learning_rate * std::sqrt(std::max(1.0, static_cast<double>(rows) / static_cast<double>(columns)));
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = (1 - r.learning_rate * r.weight_decay) * w[i] - rate * direction[i];
}

struct Rule {
  OptimizerKind kind;
  Reference reference;
  bool variant = false;  ///< Nesterov's momentum; steps that are not relative
};

std::vector<Rule> rules() {
  using Kind = OptimizerKind;
  return {{Kind::kSgd, momentum}, {Kind::kMomentum, momentum}, {Kind::kMomentum, momentum, true}, {Kind::kAdam, adam},
          {Kind::kAdamW, adam},   {Kind::kLion, lion},         {Kind::kLamb, lamb},               {Kind::kLars, lars},
          {Kind::kSm3, sm3},      {Kind::kAdafactor, adafactor}, {Kind::kAdafactor, adafactor, true}};
}

/// The rule's own numbers, but with a decay that shows and a rate that moves weights.
Recipe recipe_of(const Rule& rule) {
  Recipe recipe = with_optimizer({.sequence = 1}, rule.kind);
  recipe.weight_decay = 0.1;
  recipe.learning_rate = 0.02;
  if (rule.kind == OptimizerKind::kLars) recipe.trust = 0.3;
  if (rule.kind == OptimizerKind::kMomentum) recipe.nesterov = rule.variant;
  if (rule.kind == OptimizerKind::kAdafactor) recipe.relative_step = !rule.variant;
  return recipe;
}

std::vector<Numbers> reference_weights(const Rule& rule, double factor) {
  std::vector<UpdatedTensor> tensors = updated_tensors();
  std::vector<std::vector<Numbers>> states(tensors.size());
  for (std::int64_t step = 0; step < kSteps; ++step) {
    std::vector<Numbers> gradients = gradients_of(tensors, step);
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      for (double& g : gradients[t]) g *= factor;
      rule.reference(recipe_of(rule), tensors[t], static_cast<double>(step + 1), gradients[t], tensors[t].weights, states[t]);
    }
  }
  std::vector<Numbers> weights;
  for (const UpdatedTensor& tensor : tensors) weights.push_back(tensor.weights);
  return weights;
}

double largest_difference(const Numbers& a, const Numbers& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

const std::vector<OptimizerKind> kAllKinds{
    OptimizerKind::kSgd,  OptimizerKind::kMomentum, OptimizerKind::kAdam, OptimizerKind::kAdamW, OptimizerKind::kAdam8bit,
    OptimizerKind::kLamb, OptimizerKind::kLars,     OptimizerKind::kLion, OptimizerKind::kSm3,   OptimizerKind::kAdafactor,
    OptimizerKind::kMuon};

}  // namespace

TEST_CASE("five steps of every rule in fp64 give the weights of its paper's formulas, clipped or not") {
  for (const Rule& rule : rules()) {
    for (const double factor : {0.0, 0.25}) {
      const std::vector<Numbers> expected = reference_weights(rule, factor == 0 ? 1 : factor);
      const std::vector<Numbers> ours = run_updates(recipe_of(rule), kSteps, {.factor = factor});
      for (std::size_t t = 0; t < ours.size(); ++t) {
        CAPTURE(to_text(rule.kind), rule.variant, factor, t);
        CHECK(largest_difference(ours[t], expected[t]) < 1e-13);
        CHECK(largest_difference(ours[t], updated_tensors()[t].weights) > 1e-4);  // and it does move them
      }
    }
  }
}

TEST_CASE("five steps of every rule in fp32 agree with fp64 to a few roundings") {
  for (const Rule& rule : rules()) {
    if (rule.kind == OptimizerKind::kLion) continue;  // a sign turns where the mixed gradient is next to 0
    const std::vector<Numbers> expected = run_updates(recipe_of(rule), kSteps);
    const std::vector<Numbers> ours = run_updates(recipe_of(rule), kSteps, {.dtype = DType::kFp32});
    for (std::size_t t = 0; t < ours.size(); ++t) {
      CAPTURE(to_text(rule.kind), rule.variant, t);
      CHECK(largest_difference(ours[t], expected[t]) < 2e-6);
    }
  }
}

/// ‖a − b‖ over ‖b − start‖: how far two steps from one start are apart.
double apart(const Numbers& a, const Numbers& b, const Numbers& start) {
  Numbers between(a.size()), moved(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) between[i] = a[i] - b[i], moved[i] = b[i] - start[i];
  return norm_of(between) / norm_of(moved);
}

// Sums in another order are rounded to another bf16 now and then, and five steps make up to 3.4445⁵ of the smallest singular
// value's share of that: measured, 5e-3 of the large matrix's way and 1.5e-2 of that of 15 elements.
TEST_CASE("five steps of muon move matrices as Newton and Schulz in bf16 do, to a fiftieth of the way, and vectors as AdamW does") {
  const Rule rule{OptimizerKind::kMuon, muon};
  for (const double factor : {0.0, 0.25}) {
    const std::vector<Numbers> expected = reference_weights(rule, factor == 0 ? 1 : factor);
    for (const DType dtype : {DType::kFp64, DType::kFp32}) {
      const std::vector<Numbers> ours = run_updates(recipe_of(rule), kSteps, {.dtype = dtype, .factor = factor});
      for (std::size_t t = 0; t < ours.size(); ++t) {
        const double distance = apart(ours[t], expected[t], updated_tensors()[t].weights);
        CAPTURE(to_text(dtype), factor, t, distance);
        CHECK(distance < (updated_tensors()[t].rows > 1 ? 2e-2 : dtype == DType::kFp64 ? 1e-12 : 1e-5));
      }
    }
  }
}

TEST_CASE("what muon takes from a matrix is near orthogonal: the mean square of its singular values is about 1") {
  Recipe recipe = with_optimizer({.sequence = 1}, OptimizerKind::kMuon);
  recipe.weight_decay = 0;
  const std::vector<Numbers> ours = run_updates(recipe, 1);
  const std::vector<UpdatedTensor> tensors = updated_tensors();
  for (std::size_t t = 0; t < ours.size(); ++t) {
    if (tensors[t].rows == 1) continue;
    Numbers taken(ours[t].size());
    for (std::size_t i = 0; i < taken.size(); ++i) taken[i] = tensors[t].weights[i] - ours[t][i];
    const double tall = std::max(1.0, static_cast<double>(tensors[t].rows) / static_cast<double>(tensors[t].columns));
    const double squares = std::pow(norm_of(taken) / recipe.learning_rate, 2) / tall;
    const double mean = squares / static_cast<double>(std::min(tensors[t].rows, tensors[t].columns));
    CAPTURE(t, mean);
    CHECK(mean > 0.7);  // Jordan et al.: singular values come to lie between 0.7 and 1.2; those near 0 less
    CHECK(mean < 1.2);
  }
}

TEST_CASE("no rule changes a bit with the number of workers, the order of tasks, or where the new states lie") {
  for (const OptimizerKind kind : kAllKinds) {
    for (const DType dtype : {DType::kFp32, DType::kFp64}) {
      const Recipe recipe = with_optimizer({.sequence = 1}, kind);
      const std::vector<Numbers> expected = run_updates(recipe, 3, {.dtype = dtype, .workers = 1, .factor = 0.5});
      CAPTURE(to_text(kind), to_text(dtype));
      CHECK(run_updates(recipe, 3, {.dtype = dtype, .workers = 3, .shuffle = 7, .factor = 0.5}) == expected);
      CHECK(run_updates(recipe, 3, {.dtype = dtype, .versions = true, .factor = 0.5}) == expected);
    }
  }
}

TEST_CASE("a factor of 1 gives every rule the bits that no factor gives") {
  for (const OptimizerKind kind : kAllKinds) {
    const Recipe recipe = with_optimizer({.sequence = 1}, kind);
    CAPTURE(to_text(kind));
    CHECK(run_updates(recipe, 2, {.dtype = DType::kFp32, .factor = 1}) == run_updates(recipe, 2, {.dtype = DType::kFp32}));
  }
}

TEST_CASE("8-bit Adam's weights stay within a hundredth of a step of those of 32-bit moments, and small tensors' are the same") {
  Recipe wide = with_optimizer({.sequence = 1}, OptimizerKind::kAdam8bit), narrow = wide;
  wide.optimizer = OptimizerKind::kAdamW;
  const auto expected = run_updates(wide, kSteps, {.dtype = DType::kFp32});
  const auto ours = run_updates(narrow, kSteps, {.dtype = DType::kFp32});
  CHECK(ours[1] == expected[1]);  // 15 elements
  CHECK(ours[2] == expected[2]);  // 7
  for (const std::size_t t : {std::size_t{0}, std::size_t{3}}) {
    double sum = 0;
    for (std::size_t i = 0; i < ours[t].size(); ++i) sum += std::abs(ours[t][i] - expected[t][i]);
    const double mean = sum / static_cast<double>(ours[t].size()) / (static_cast<double>(kSteps) * wide.learning_rate);
    CAPTURE(t, mean);
    CHECK(mean < 0.01);
    CHECK(mean > 0);
  }
}

}  // namespace plimsoll::test
