#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "executor/kernels/experts/routing_random.h"
#include "tests/support/expert_layer_run.h"
#include "tests/support/small_models.h"

// A mixture of experts against its definition: every expert computed for every token, in double.
namespace plimsoll::test {
namespace {

using kernels::Draw;
using kernels::draw_key;
using Vector = std::vector<double>;

constexpr std::int64_t kRows = 24, kHidden = 32, kWidth = 20, kExperts = 4;

ModelSpec spec_with(GatingKind gating) {
  ModelSpec spec = small_model(Family::kGpt2, 1);
  spec.activation = ActivationKind::kGelu;
  spec.experts = gating_defaults(gating);
  spec.experts.count = kExperts;
  spec.experts.width = kWidth;
  return spec;
}

/// The layer on random tokens with random weights.
class LayerRun {
 public:
  explicit LayerRun(const ModelSpec& spec) : layer_(spec, kRows) {
    std::uint64_t place = 0;
    for (const std::span<double> values : {layer_.input(), layer_.parameters()}) {
      for (double& value : values) value = 0.5 * normal_at(17, place++);
    }
    layer_.forward();
  }

  /// Row `row` of a matrix ; all of a bias.
  Vector weight(ParameterRole role, std::int64_t row) {
    const std::span<double> all = layer_.parameter(role);
    const ParameterTensor& of = *layer_.graph().parameters.at(GroupId(1u)).find(role);
    const auto begin = all.begin() + row * of.columns;
    return {begin, begin + of.columns};
  }
  Vector token(std::int64_t t) { return row_of(layer_.input(), t); }
  Vector output(std::int64_t t) { return row_of(layer_.output(), t); }
  [[nodiscard]] const Recipe& recipe() const { return layer_.graph().recipe; }

 private:
  static Vector row_of(std::span<double> all, std::int64_t t) {
    return {all.begin() + t * kHidden, all.begin() + (t + 1) * kHidden};
  }

  ExpertLayerRun layer_;
};

double dot(const Vector& a, const Vector& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

/// x through one expert: W₂ gelu(W₁ x + b₁) + b₂.
Vector expert(LayerRun& layer, std::int64_t e, const Vector& x) {
  Vector inner, out;
  const Vector in_bias = layer.weight(ParameterRole::kExpertInBias, 0), out_bias = layer.weight(ParameterRole::kExpertOutBias, 0);
  for (std::int64_t i = e * kWidth; i < (e + 1) * kWidth; ++i) {
    const double v = dot(layer.weight(ParameterRole::kExpertInWeight, i), x) + in_bias[static_cast<std::size_t>(i)];
    inner.push_back(0.5 * v * (1 + std::erf(v / std::sqrt(2.0))));
  }
  for (std::int64_t i = e * kHidden; i < (e + 1) * kHidden; ++i) {
    out.push_back(dot(layer.weight(ParameterRole::kExpertOutWeight, i), inner) + out_bias[static_cast<std::size_t>(i)]);
  }
  return out;
}

Vector softmax(Vector x) {
  const double most = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (double& v : x) sum += v = std::exp(v - most);
  for (double& v : x) v /= sum;
  return x;
}

std::vector<std::size_t> order_of(const Vector& x) {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return x[a] > x[b]; });
  return order;
}

Vector logits(LayerRun& layer, ParameterRole role, std::int64_t t) {
  Vector h;
  for (std::int64_t e = 0; e < kExperts; ++e) h.push_back(dot(layer.weight(role, e), layer.token(t)));
  return h;
}

LaunchContext context_of(LayerRun& layer) { return {.recipe = &layer.recipe(), .block = 0}; }

/// GShard, algorithm 1: combine weights [token][expert].
std::vector<Vector> gshard_weights(LayerRun& layer, std::int64_t capacity) {
  std::vector<Vector> weights(kRows, Vector(kExperts, 0.0));
  std::vector<std::int64_t> c(kExperts, 0);
  for (const bool second : {false, true}) {
    for (std::int64_t t = 0; t < kRows; ++t) {
      const Vector g = softmax(logits(layer, ParameterRole::kRouterWeight, t));
      const auto order = order_of(g);
      const std::size_t e = order[second ? 1 : 0];
      const double weight = g[e] / (g[order[0]] + g[order[1]]);
      const double rnd = to_unit(random_at(draw_key(context_of(layer), Draw::kSecondExpert), static_cast<std::uint64_t>(t)));
      if (c[e]++ < capacity && (!second || 2 * weight > rnd)) weights[static_cast<std::size_t>(t)][e] = weight;
    }
  }
  return weights;
}

/// Shazeer et al. 2017, equations 3 to 5.
std::vector<Vector> noisy_weights(LayerRun& layer) {
  std::vector<Vector> weights(kRows, Vector(kExperts, 0.0));
  for (std::int64_t t = 0; t < kRows; ++t) {
    Vector h = logits(layer, ParameterRole::kRouterWeight, t);
    const Vector width = logits(layer, ParameterRole::kRouterNoiseWeight, t);
    for (std::size_t e = 0; e < kExperts; ++e) {
      const auto place = static_cast<std::uint64_t>(t * kExperts) + e;
      h[e] += normal_at(draw_key(context_of(layer), Draw::kNoise), place) * std::log(1 + std::exp(width[e]));
    }
    const auto order = order_of(h);
    const Vector kept = softmax({h[order[0]], h[order[1]]});
    for (std::size_t i = 0; i < 2; ++i) weights[static_cast<std::size_t>(t)][order[i]] = kept[i];
  }
  return weights;
}

std::vector<Vector> switch_weights(LayerRun& layer, std::int64_t capacity) {
  std::vector<Vector> weights(kRows, Vector(kExperts, 0.0));
  std::vector<std::int64_t> taken(kExperts, 0);
  for (std::int64_t t = 0; t < kRows; ++t) {
    const Vector p = softmax(logits(layer, ParameterRole::kRouterWeight, t));
    const std::size_t e = order_of(p)[0];
    if (taken[e]++ < capacity) weights[static_cast<std::size_t>(t)][e] = p[e];
  }
  return weights;
}

/// Largest difference between the layer and the weighted sum of its experts; `refused` counts tokens without any.
double distance(LayerRun& layer, const std::vector<Vector>& weights, std::int64_t& refused) {
  double most = 0;
  for (std::int64_t t = 0; t < kRows; ++t) {
    Vector sum(kHidden, 0.0);
    const Vector& of_token = weights[static_cast<std::size_t>(t)];
    for (std::int64_t e = 0; e < kExperts; ++e) {
      const Vector y = expert(layer, e, layer.token(t));
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += of_token[static_cast<std::size_t>(e)] * y[i];
    }
    if (std::accumulate(of_token.begin(), of_token.end(), 0.0) == 0) ++refused;
    const Vector made = layer.output(t);
    for (std::size_t i = 0; i < sum.size(); ++i) most = std::max(most, std::abs(sum[i] - made[i]));
  }
  return most;
}

}  // namespace

TEST_CASE("GShard's layer is its algorithm: full experts, second ones by chance, and tokens that no expert takes") {
  ModelSpec spec = spec_with(GatingKind::kGShard);
  spec.experts.capacity = 0.5;  // 24 tokens, two of four experts each: 6 rows an expert
  REQUIRE(capacity_of(spec.experts, kRows) == 6);
  LayerRun layer(spec);
  std::int64_t refused = 0;
  CHECK(distance(layer, gshard_weights(layer, 6), refused) < 1e-12);
  CHECK(refused > 0);
}

TEST_CASE("a noisy router's layer is the softmax of its two largest noisy logits over their experts") {
  LayerRun layer(spec_with(GatingKind::kNoisy));
  std::int64_t refused = 0;
  CHECK(distance(layer, noisy_weights(layer), refused) < 1e-12);
  CHECK(refused == 0);
}

TEST_CASE("Switch's layer is the likeliest expert times its probability, and nothing of refused tokens") {
  ModelSpec spec = spec_with(GatingKind::kSwitch);
  spec.experts.capacity = 1;  // 6 of 24 tokens
  LayerRun layer(spec);
  std::int64_t refused = 0;
  CHECK(distance(layer, switch_weights(layer, 6), refused) < 1e-12);
  CHECK(refused > 0);
}

}  // namespace plimsoll::test
