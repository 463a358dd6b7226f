#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/reference/reference_model.h"
#include "tests/support/expert_layer_run.h"

// A Switch layer that transformers made and computed with (make_switch.py).
namespace plimsoll::test {
namespace {

using Vector = std::vector<double>;

nlohmann::json made() { return nlohmann::json::parse(std::ifstream(kReferenceData / "switch.json")); }

/// Each sequence is a group; the capacity is stated as a share, as it is ours.
ModelSpec spec_of(const nlohmann::json& m) {
  ModelSpec spec = family_defaults(Family::kGpt2);
  spec.layers = spec.heads = spec.kv_heads = 1;
  spec.vocabulary = spec.max_positions = 1;
  spec.hidden = spec.head_dim = m["hidden"];
  spec.ffn = m["width"];
  spec.mlp_bias = false;
  spec.experts = gating_defaults(GatingKind::kSwitch);
  spec.experts.count = m["experts"];
  spec.experts.groups = m["sequences"];
  spec.experts.capacity = m["capacity"].get<double>() * m["experts"].get<double>() / m["tokens"].get<double>();
  spec.experts.balance = 1;
  return spec;
}

void fill(std::span<double> place, const Vector& values) {
  REQUIRE(place.size() == values.size());
  std::copy(values.begin(), values.end(), place.begin());
}

}  // namespace

TEST_CASE("a Switch layer computes what transformers' computes: probabilities, refused tokens, output and loss") {
  const nlohmann::json m = made();
  const ModelSpec spec = spec_of(m);
  REQUIRE(capacity_of(spec.experts, m["tokens"]) == m["capacity"]);
  ExpertLayerRun layer(spec, m["sequences"].get<std::int64_t>() * m["tokens"].get<std::int64_t>());
  fill(layer.input(), m["x"]);
  fill(layer.parameter(ParameterRole::kRouterWeight), m["router"]);
  fill(layer.parameter(ParameterRole::kExpertInWeight), m["in"]);
  fill(layer.parameter(ParameterRole::kExpertOutWeight), m["out"]);
  layer.forward();
  const Vector probabilities(layer.scores().begin(), layer.scores().end()), y(layer.output().begin(), layer.output().end());
  CHECK(distance(probabilities, m["probabilities"]) < 1e-14);
  CHECK(distance(y, m["y"]) < 1e-14);
  const std::vector<int> sent = m["sent"];
  const auto refused = std::count(sent.begin(), sent.end(), 0);
  CHECK(refused > 0);
  CHECK(layer.statistics().back() == static_cast<double>(refused) / static_cast<double>(sent.size()));
  // Mean over sequences and experts of f · P, times E², is ours with a coefficient of 1: E times the mean over groups of Σ f · P.
  double loss = 0;
  const double tokens = m["tokens"], groups = m["sequences"];
  for (std::size_t i = 0; i + 1 < layer.statistics().size(); i += 3) {
    const double share = layer.statistics()[i] / tokens, probability = layer.statistics()[i + 1] / tokens;
    loss += static_cast<double>(spec.experts.count) / groups * share * probability;
  }
  CHECK(loss == Approx(m["loss"].get<double>()).epsilon(1e-7));  // transformers counts the shares in fp32
}

}  // namespace plimsoll::test
