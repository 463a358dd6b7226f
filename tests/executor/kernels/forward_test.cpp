#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>

#include "core/model/model_spec.h"
#include "tests/executor/kernels/kernel_case.h"

// Forward kernels in fp64 against their definitions, written as plainly as possible.
namespace plimsoll::test {
namespace {

using Row = std::vector<double>;

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

void check(const std::string& name, std::size_t output,
           const std::function<Row(const OpShape&, const Values&)>& reference, double tolerance = 1e-13) {
  const KernelCase kernel_case = case_named(name);
  const Values inputs = random_values(kernel_case);
  const Values results = run_case(kernel_case, inputs, DType::kFp64);
  INFO(name << ", operand " << output);
  CHECK(relative_distance(results[output], reference(kernel_case.shape, inputs)) < tolerance);
}

std::int64_t token(const OpShape& s, const Row& tokens, std::int64_t row, std::int64_t shift = 0) {
  return static_cast<std::int64_t>(tokens[index(row / s.sequence * (s.sequence + 1) + row % s.sequence + shift)]);
}

Row embed(const OpShape& s, const Values& in) {
  Row y(index(s.rows * s.inputs));
  for (std::int64_t row = 0; row < s.rows; ++row) {
    for (std::int64_t i = 0; i < s.inputs; ++i) {
      y[index(row * s.inputs + i)] = in[1][index(token(s, in[0], row) * s.inputs + i)];
      if (s.constant != 0) y[index(row * s.inputs + i)] *= s.constant;
      if (s.positions > 0) y[index(row * s.inputs + i)] += in[2][index(row % s.sequence * s.inputs + i)];
    }
  }
  return y;
}

TEST_CASE("embedding adds the token's row and the position's row") {
  check("embedding", 2, embed, 1e-15);
  check("embedding with positions", 3, embed, 1e-15);
  check("embedding, scaled", 2, embed, 1e-15);
}

Row normalize(const OpShape& s, const Values& in) {
  const bool layer = s.variant == static_cast<std::uint8_t>(NormKind::kLayerNorm);
  const double one = s.variant == static_cast<std::uint8_t>(NormKind::kRmsNormPlusOne) ? 1 : 0;
  Row y(index(s.rows * s.inputs));
  for (std::int64_t row = 0; row < s.rows; ++row) {
    double mean = 0, squares = 0;
    const double* x = in[0].data() + row * s.inputs;
    for (std::int64_t i = 0; layer && i < s.inputs; ++i) mean += x[i] / static_cast<double>(s.inputs);
    for (std::int64_t i = 0; i < s.inputs; ++i)
      squares += (x[i] - mean) * (x[i] - mean) / static_cast<double>(s.inputs);
    for (std::int64_t i = 0; i < s.inputs; ++i) {
      y[index(row * s.inputs + i)] =
          (x[i] - mean) / std::sqrt(squares + s.constant) * (in[1][index(i)] + one) + (layer ? in[2][index(i)] : 0);
    }
  }
  return y;
}

TEST_CASE("norms scale rows to unit deviation, layer norm after centring them") {
  check("layer norm", 3, normalize);
  check("rms norm", 2, normalize);
}

TEST_CASE("a norm of weight w plus one is the norm of weight w + 1") { check("rms norm plus one", 2, normalize); }

/// Each query and key head as a row of its own.
Row normalize_heads(const OpShape& s, const Values& in) {
  Row y = in[0];
  const std::int64_t heads = s.heads + s.kv_heads, width = (heads + s.kv_heads) * s.head_dim;
  const double one = s.variant == static_cast<std::uint8_t>(NormKind::kRmsNormPlusOne) ? 1 : 0;
  for (std::int64_t row = 0; row < s.rows; ++row) {
    for (std::int64_t head = 0; head < heads; ++head) {
      double* x = y.data() + row * width + head * s.head_dim;
      double squares = 0;
      for (std::int64_t i = 0; i < s.head_dim; ++i) squares += x[i] * x[i] / static_cast<double>(s.head_dim);
      for (std::int64_t i = 0; i < s.head_dim; ++i) {
        x[i] *= (in[head < s.heads ? 1 : 2][index(i)] + one) / std::sqrt(squares + s.constant);
      }
    }
  }
  return y;
}

TEST_CASE("head norms scale every query and key head to unit deviation and leave values alone") {
  check("head norm", 3, normalize_heads);
  check("head norm plus one", 3, normalize_heads);
}

Row multiply(const OpShape& s, const Values& in) {
  Row y(index(s.rows * s.outputs));
  for (std::int64_t row = 0; row < s.rows; ++row) {
    for (std::int64_t out = 0; out < s.outputs; ++out) {
      double sum = in.size() == 4 ? in[2][index(out)] : 0;
      for (std::int64_t i = 0; i < s.inputs; ++i)
        sum += in[0][index(row * s.inputs + i)] * in[1][index(out * s.inputs + i)];
      y[index(row * s.outputs + out)] = sum;
    }
  }
  return y;
}

TEST_CASE("a linear layer multiplies by the transposed weight and adds the bias") {
  check("linear", 2, multiply);
  check("linear with bias", 3, multiply);
}

/// Llama 3.1's rule as its authors give it: by wavelength, smooth between two bounds.
double stretched(const RopeScaling& scaling, double frequency) {
  if (scaling.kind == RopeScalingKind::kNone) return frequency;
  if (scaling.kind == RopeScalingKind::kLinear) return frequency / scaling.factor;
  const double wave = 2 * M_PI / frequency;
  if (wave < scaling.original_positions / scaling.high_frequency) return frequency;
  if (wave > scaling.original_positions / scaling.low_frequency) return frequency / scaling.factor;
  const double smooth = (scaling.original_positions / wave - scaling.low_frequency) / (scaling.high_frequency - scaling.low_frequency);
  return (1 - smooth) * frequency / scaling.factor + smooth * frequency;
}

Row rotate(const OpShape& s, const RopeScaling& scaling, const Values& in) {
  Row y = in[0];
  const std::int64_t rotated = s.inputs == 0 ? s.head_dim : s.inputs;
  const std::int64_t width = (s.heads + 2 * s.kv_heads) * s.head_dim, half = rotated / 2;
  for (std::int64_t row = 0; row < s.rows; ++row) {
    for (std::int64_t head = 0; head < s.heads + s.kv_heads; ++head) {
      for (std::int64_t i = 0; i < half; ++i) {
        const double angle = static_cast<double>(row % s.sequence) *
                             stretched(scaling, std::pow(s.constant, -2.0 * static_cast<double>(i) / static_cast<double>(rotated)));
        const std::int64_t at = row * width + head * s.head_dim + i;
        y[index(at)] = in[0][index(at)] * std::cos(angle) - in[0][index(at + half)] * std::sin(angle);
        y[index(at + half)] = in[0][index(at + half)] * std::cos(angle) + in[0][index(at)] * std::sin(angle);
      }
    }
  }
  return y;
}

TEST_CASE("rope rotates the halves of query and key heads and leaves values alone") {
  for (const std::string name : {"4 kv heads", "2 kv heads", "1 kv heads", "of six elements", "stretched", "linear"}) {
    const RopeScaling scaling = case_named("rope, " + name).rope_scaling;
    check("rope, " + name, 0, [&](const OpShape& s, const Values& in) { return rotate(s, scaling, in); });
  }
}

TEST_CASE("a rotation that says so is not stretched, whatever the model's scaling") {
  check("rope, beside stretched ones", 0, [](const OpShape& s, const Values& in) { return rotate(s, {}, in); });
}

/// One row of softmax(q kᵀ / √d) over the keys that it may see, and the logarithm of the sum.
std::pair<Row, double> weights_of(const OpShape& s, const Row& qkv, std::int64_t row, std::int64_t head) {
  const std::int64_t width = (s.heads + 2 * s.kv_heads) * s.head_dim;
  const std::int64_t first = row - row % s.sequence, kv = head / (s.heads / s.kv_heads);
  Row weights;
  double sum = 0;
  for (std::int64_t other = first; other <= row; ++other) {
    double score = 0;
    for (std::int64_t i = 0; i < s.head_dim; ++i) {
      score +=
          qkv[index(row * width + head * s.head_dim + i)] * qkv[index(other * width + (s.heads + kv) * s.head_dim + i)];
    }
    weights.push_back(std::exp(score / std::sqrt(static_cast<double>(s.head_dim))));
    sum += weights.back();
  }
  for (double& w : weights) w /= sum;
  return {weights, std::log(sum)};
}

Row attend(const OpShape& s, const Values& in) {
  const std::int64_t width = (s.heads + 2 * s.kv_heads) * s.head_dim;
  Row y(index(s.rows * s.heads * s.head_dim));
  for (std::int64_t row = 0; row < s.rows; ++row) {
    for (std::int64_t head = 0; head < s.heads; ++head) {
      const Row weights = weights_of(s, in[0], row, head).first;
      const std::int64_t value = (s.heads + s.kv_heads + head / (s.heads / s.kv_heads)) * s.head_dim;
      for (std::size_t k = 0; k < weights.size(); ++k) {
        const std::int64_t other = row - row % s.sequence + static_cast<std::int64_t>(k);
        for (std::int64_t i = 0; i < s.head_dim; ++i) {
          y[index((row * s.heads + head) * s.head_dim + i)] += weights[k] * in[0][index(other * width + value + i)];
        }
      }
    }
  }
  return y;
}

Row log_sum_exps(const OpShape& s, const Values& in) {
  Row y;
  for (std::int64_t row = 0; row < s.rows; ++row) {
    for (std::int64_t head = 0; head < s.heads; ++head) y.push_back(weights_of(s, in[0], row, head).second);
  }
  return y;
}

TEST_CASE("attention weighs the values of earlier tokens by softmax, heads sharing keys where there are fewer") {
  for (const char* heads : {"4", "2", "1"}) {
    check(std::string("attention, ") + heads + " kv heads", 1, attend);
    check(std::string("attention, ") + heads + " kv heads", 2, log_sum_exps);
  }
}

double gelu(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }
double gelu_tanh(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }
double relu(double x) { return std::max(x, 0.0); }
double squared_relu(double x) { return x > 0 ? x * x : 0; }
double silu(double x) { return x / (1 + std::exp(-x)); }

template <double (*function)(double)>
Row apply(const OpShape&, const Values& in) {
  Row y;
  for (const double x : in[0]) y.push_back(function(x));
  return y;
}

template <double (*function)(double)>
Row gated(const OpShape& s, const Values& in) {
  Row y;
  for (std::int64_t row = 0; row < s.rows; ++row) {
    for (std::int64_t i = 0; i < s.outputs; ++i) {
      y.push_back(function(in[0][index(row * s.inputs + i)]) * in[0][index(row * s.inputs + s.outputs + i)]);
    }
  }
  return y;
}

TEST_CASE("activations agree with their formulas") {
  check("gelu", 1, apply<gelu>);
  check("gelu tanh", 1, apply<gelu_tanh>);
  check("relu", 1, apply<relu>);
  check("squared relu", 1, apply<squared_relu>);
  check("swiglu", 1, gated<silu>);
  check("geglu tanh", 1, gated<gelu_tanh>);
}

TEST_CASE("fp32 activations err by less than a millionth over the whole range, and end in 0 and x") {
  struct Activation {
    ActivationKind kind;
    double (*exact)(double);
  };
  for (const Activation a : {Activation{ActivationKind::kGelu, gelu}, {ActivationKind::kGeluTanh, gelu_tanh}}) {
    KernelCase c{"range",
                 OpKind::kActivation,
                 {.rows = 1, .outputs = 40001, .variant = static_cast<std::uint8_t>(a.kind)},
                 {{40001, Access::kRead}, {40001, Access::kWrite}}};
    Values inputs = random_values(c);
    for (std::size_t i = 0; i < inputs[0].size(); ++i)
      inputs[0][i] = static_cast<float>(static_cast<double>(i) * 0.001 - 20);
    const Row y = run_case(c, inputs, DType::kFp32)[1];
    double worst = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      worst = std::max(worst, std::abs(y[i] - a.exact(inputs[0][i])) / std::max(1.0, std::abs(inputs[0][i])));
    }
    CHECK(worst < 1e-6);
    CHECK(y.back() == inputs[0].back());
    CHECK(std::abs(y.front()) < 1e-30);
  }
}

double row_loss(const OpShape& s, const Values& in, std::int64_t row) {
  double sum = 0;
  for (std::int64_t i = 0; i < s.outputs; ++i) sum += std::exp(in[0][index(row * s.outputs + i)]);
  return std::log(sum) - in[0][index(row * s.outputs + token(s, in[1], row, 1))];
}

Row mean_loss(const OpShape& s, const Values& in) {
  double sum = 0;
  for (std::int64_t row = 0; row < s.rows; ++row) sum += row_loss(s, in, row);
  return {sum / static_cast<double>(s.rows)};
}

TEST_CASE("losses are the mean of log-sum-exp minus the next token's logit") {
  check("cross entropy", 2, mean_loss);
  check("loss", 2, mean_loss);
}

TEST_CASE("cross entropy of two equal logits is ln 2 and leaves plus and minus a half over the terms") {
  KernelCase c{"two",
               OpKind::kCrossEntropy,
               {.rows = 1, .outputs = 2, .sequence = 1, .terms = 4},
               {{2, Access::kReadWrite}, {2, Access::kRead, Content::kToken}, {1, Access::kWrite, Content::kDouble}}};
  const Values results = run_case(c, {{3, 3}, {0, 1}, {0}}, DType::kFp64);
  CHECK(results[2][0] == Approx(std::log(2.0)).epsilon(1e-15));
  CHECK(results[0][0] == Approx(0.125).epsilon(1e-15));
  CHECK(results[0][1] == Approx(-0.125).epsilon(1e-15));
}

TEST_CASE("columns behind the vocabulary count for no loss and get no gradient") {
  // Rows of three, two of them words: whatever the third holds, two equal logits have ln 2. Token 1 alone counts.
  const double uncounted = std::numeric_limits<std::int32_t>::min();
  KernelCase c{"wide",
               OpKind::kCrossEntropy,
               {.rows = 2, .outputs = 2, .sequence = 2, .stride = 3, .terms = 2},
               {{6, Access::kReadWrite}, {3, Access::kRead, Content::kToken}, {1, Access::kWrite, Content::kDouble}}};
  for (const double behind : {99.0, -4.0}) {
    const Values results = run_case(c, {{3, 3, behind, 5, 7, behind}, {0, 1, uncounted}, {0}}, DType::kFp64);
    CHECK(results[2][0] == Approx(std::log(2.0) / 2).epsilon(1e-15));
    CHECK(results[0] == std::vector<double>{0.25, -0.25, 0, 0, 0, 0});
  }
  c.kind = OpKind::kLoss;
  CHECK(run_case(c, {{3, 3, 99, 5, 5, 99}, {0, 1, 0}, {0}}, DType::kFp64)[2][0] == Approx(std::log(2.0)).epsilon(1e-15));
}

TEST_CASE("a target that does not count has no loss and leaves no gradient") {
  // Tokens 0, 1, 0 of which the second target does not count: of two rows the first alone has ln 2, and the mean is over two.
  const double uncounted = std::numeric_limits<std::int32_t>::min();
  KernelCase c{"masked",
               OpKind::kCrossEntropy,
               {.rows = 2, .outputs = 2, .sequence = 2, .terms = 2},
               {{4, Access::kReadWrite}, {3, Access::kRead, Content::kToken}, {1, Access::kWrite, Content::kDouble}}};
  const Values results = run_case(c, {{3, 3, 5, 7}, {0, 1, uncounted}, {0}}, DType::kFp64);
  CHECK(results[2][0] == Approx(std::log(2.0) / 2).epsilon(1e-15));
  CHECK(results[0] == std::vector<double>{0.25, -0.25, 0, 0});
}

TEST_CASE("cross entropy stays finite for logits that overflow the exponential") {
  KernelCase c{"large",
               OpKind::kCrossEntropy,
               {.rows = 1, .outputs = 3, .sequence = 1},
               {{3, Access::kReadWrite}, {2, Access::kRead, Content::kToken}, {1, Access::kWrite, Content::kDouble}}};
  const Values results = run_case(c, {{1000, 0, -1000}, {0, 1}, {0}}, DType::kFp32);
  CHECK(results[2][0] == Approx(1000));  // ln(e¹⁰⁰⁰ + 1 + …) − 0
  CHECK(results[0][0] == Approx(1));
  CHECK(results[0][1] == Approx(-1));
}

}  // namespace
}  // namespace plimsoll::test
