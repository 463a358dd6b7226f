#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/sim/stack/asked_stack.h"

namespace plimsoll {
namespace {

// Two layers of four experts, each of three matrices of 256 x 2048: 12.6 M numbers in all.
constexpr const char* kMixture = "mixtral:layers=2,hidden=256,heads=4,kv_heads=2,ffn=2048,vocab=1000,experts=4";
constexpr double kOfExperts = 2.0 * 4 * 3 * 256 * 2048;

StackPrediction predicted(BaseStorage base, const StackSetup& setup, const std::string& model = kMixture) {
  const ModelSpec spec = *resolve_model(model);
  Recipe recipe{.precision = Precision::kBf16, .micro_batch = 1, .sequence = 64};
  recipe.adapter = {.rank = 4, .alpha = 8, .targets = {AdapterTarget::kOutput}, .base = base};
  const auto made = predict_stack(spec, recipe, setup, *find_gpu(built_in_gpu_catalogue(), "H100 SXM5 80GB"));
  REQUIRE(made);
  return *made;
}

StackSetup setup_of(std::optional<bool> grouped) {
  StackSetup setup;
  setup.kbit_preparation = false;
  setup.grouped_experts = grouped;
  return setup;
}

bool says(const StackPrediction& prediction, const std::string& words) {
  return std::any_of(prediction.assumptions.begin(), prediction.assumptions.end(),
                     [&](const std::string& taken) { return taken.find(words) != std::string::npos; });
}

}  // namespace

TEST_CASE("Experts in one tensor stay in two bytes beside a base of 4 bits, linear layers do not") {
  const StackPrediction older = predicted(BaseStorage::kNf4, setup_of(false)), newer = predicted(BaseStorage::kNf4, setup_of(true));
  const auto more = static_cast<double>((newer.at_peak.parameters - older.at_peak.parameters).count);
  CHECK(more == Approx(kOfExperts * (2 - (0.5 + 1.0 / 64 + 4.0 / (64 * 256)))).epsilon(0.01));
  CHECK(says(newer, "bitsandbytes does not encode them"));
  StackSetup prepared = setup_of(true);
  prepared.kbit_preparation = true;  // which makes fp32 of all that is not encoded
  const auto wide = static_cast<double>((predicted(BaseStorage::kNf4, prepared).at_peak.parameters - newer.at_peak.parameters).count);
  CHECK(wide > 2 * kOfExperts);
}

TEST_CASE("Where nobody says which experts they are, none is sure to fit in 4 bits") {
  const StackPrediction unsaid = predicted(BaseStorage::kNf4, setup_of({})), older = predicted(BaseStorage::kNf4, setup_of(false));
  CHECK(unsaid.peak.allocated == older.peak.allocated);
  CHECK(unsaid.fits);
  CHECK_FALSE(unsaid.certain);
  CHECK(older.certain);
  CHECK(says(unsaid, "--grouped-experts yes"));
  CHECK(predicted(BaseStorage::kCompute, setup_of({})).certain);
  CHECK(predicted(BaseStorage::kNf4, setup_of({}), "llama:layers=2,hidden=256,heads=4,kv_heads=2,ffn=704,vocab=1000").certain);
}

// 19.1 of its 20.9 B parameters are experts', which are one tensor in every version of transformers.
TEST_CASE("gpt-oss keeps its experts in two bytes, whatever the base has") {
  const StackPrediction encoded = predicted(BaseStorage::kNf4, setup_of({}), "gpt-oss-20b");
  CHECK(encoded.peak.allocated > Bytes(2 * 19'100'000'000));
  CHECK(says(encoded, "bitsandbytes does not encode them"));
}

}  // namespace plimsoll
