#include <catch2/catch.hpp>
#include <string>

#include "core/model/adapter.h"
#include "formats/models/resolve_model.h"
#include "sim/stack/predict_stack.h"
#include "sim/stack/stack_answer.h"

namespace plimsoll {
namespace {

constexpr const char* kModel = "llama:layers=4,hidden=512,heads=8,kv_heads=4,ffn=1408,vocab=8000";

Recipe recipe_of(std::int64_t batch) {
  Recipe recipe;
  recipe.sequence = 512;
  recipe.micro_batch = batch;
  recipe.precision = Precision::kBf16;
  return recipe;
}

Recipe with_adapters(std::int64_t batch) {
  Recipe recipe = recipe_of(batch);
  recipe.adapter = {.rank = 16, .alpha = 32, .targets = adapter_targets(*resolve_model(kModel))};
  return recipe;
}

StackSetup setup_of(PreferenceMethod method, std::optional<ReferencePass> reference = {}) {
  StackSetup setup;
  setup.recomputation = Recomputation::kFull;
  setup.fused_head = true;
  setup.preference = {.method = method, .reference = reference};
  return setup;
}

GpuEntry a100() { return *find_gpu(built_in_gpu_catalogue(), "A100 80GB SXM4"); }

StackPrediction predicted(const Recipe& recipe, const StackSetup& setup) {
  const auto made = predict_stack(*resolve_model(kModel), recipe, setup, a100());
  REQUIRE(made);
  return *made;
}

std::string refusal(const Recipe& recipe, const StackSetup& setup) {
  const auto made = predict_stack(*resolve_model(kModel), recipe, setup, a100());
  return made ? "" : made.error().what;
}

}  // namespace

// Linear layers of a block have 2 · 512² + 2 · 512 · 256 + 3 · 512 · 1408 = 2,949,120 weights, four blocks 11,796,480; the head 4,096,000. Four
// sequences of 512 tokens make 2 · 2048 · 15,892,480 = 65,095,598,080 FLOP of them. Causal attention adds two products of
// 2 · 512² · 512 / 2 a sequence and block: 16 · 268,435,456 = 4,294,967,296.
constexpr double kForward = 65'095'598'080 + 4'294'967'296;

TEST_CASE("A pair is two sequences, and the reference one forward pass more over both") {
  const double texts = predicted(recipe_of(4), setup_of(PreferenceMethod::kNone)).time.model_flops;
  const double known = predicted(recipe_of(2), setup_of(PreferenceMethod::kDpo, ReferencePass::kPrecomputed)).time.model_flops;
  CHECK(known == texts);
  CHECK(predicted(recipe_of(2), setup_of(PreferenceMethod::kDpo)).time.model_flops - known == kForward);
}

TEST_CASE("Of KTO's answers mismatched ones pass through both models, without gradients") {
  const double texts = predicted(recipe_of(4), setup_of(PreferenceMethod::kNone)).time.model_flops;
  CHECK(predicted(recipe_of(4), setup_of(PreferenceMethod::kKto, ReferencePass::kPrecomputed)).time.model_flops - texts == kForward);
  CHECK(predicted(recipe_of(4), setup_of(PreferenceMethod::kKto)).time.model_flops - texts == 3 * kForward);
}

// Weights of the copy: 11,796,480 in blocks, 2 · 4,096,000 of embedding and head, 9 norms of 512, two bytes each.
constexpr Bytes kCopy{39'986'176};

TEST_CASE("A copied reference takes the bytes of the model's weights, and none of gradients and states") {
  const StackPrediction copied = predicted(recipe_of(1), setup_of(PreferenceMethod::kDpo));
  const StackPrediction known = predicted(recipe_of(1), setup_of(PreferenceMethod::kDpo, ReferencePass::kPrecomputed));
  CHECK(copied.at_peak.parameters - known.at_peak.parameters == kCopy);
  CHECK(copied.peak.requested - known.peak.requested == kCopy);
}

TEST_CASE("A model with adapters is its own reference, which takes no weights and no adapters' products") {
  const StackPrediction own = predicted(with_adapters(2), setup_of(PreferenceMethod::kDpo));
  const StackPrediction known = predicted(with_adapters(2), setup_of(PreferenceMethod::kDpo, ReferencePass::kPrecomputed));
  CHECK(own.at_peak.parameters == known.at_peak.parameters);
  CHECK(own.time.model_flops - known.time.model_flops == kForward);
}

// Under ZeRO-3 the copy is shared out as the model is: a quarter of its bytes are more of what a rank keeps.
TEST_CASE("Ranks share a copied reference where they share the weights") {
  const auto kept = [](std::optional<ReferencePass> reference) {
    StackSetup setup = setup_of(PreferenceMethod::kDpo, reference);
    setup.data_ranks = 4;
    setup.zero = 3;
    Recipe recipe = recipe_of(2);
    recipe.precision = Precision::kBf16Mixed;
    return predicted(recipe, setup);
  };
  const StackPrediction copied = kept(ReferencePass::kCopy), known = kept(ReferencePass::kPrecomputed);
  CHECK(copied.peak.requested - known.peak.requested >= Bytes(kCopy.count / 4));
  // Embedding and head of the copy stay gathered beside the model's own: 2 · 2 · 4,096,000 B; a block of 2 · 2,950,144 B may be beside them.
  CHECK(copied.peak.requested - known.peak.requested <= Bytes(kCopy.count / 4 + 16'384'000 + 2 * 5'900'288));
}

TEST_CASE("Both sequences of a pair count as tokens, and a pair as one sample") {
  const auto answer_to = [](PreferenceMethod method) {
    const StackSetup setup = setup_of(method);
    return stack_answer(*resolve_model(kModel), recipe_of(2), setup, a100(), predicted(recipe_of(2), setup));
  };
  const FitAnswer pairs = answer_to(PreferenceMethod::kDpo), answers = answer_to(PreferenceMethod::kKto);
  CHECK(pairs.tokens_per_second == Approx(pairs.samples_per_second * 2 * 512));
  CHECK(answers.tokens_per_second == Approx(answers.samples_per_second * 512));
}

TEST_CASE("Trainings on preferences that TRL has not are refused by name") {
  CHECK_THAT(refusal(recipe_of(1), setup_of(PreferenceMethod::kDpo, ReferencePass::kAdaptersOff)), Catch::Contains("no adapters"));
  CHECK_THAT(refusal(with_adapters(1), setup_of(PreferenceMethod::kDpo, ReferencePass::kCopy)), Catch::Contains("beside adapters"));
  CHECK_THAT(refusal(recipe_of(1), setup_of(PreferenceMethod::kNone, ReferencePass::kCopy)), Catch::Contains("trainings on preferences"));
  StackSetup titan = setup_of(PreferenceMethod::kDpo);
  titan.fused_head = false;
  CHECK_THAT(refusal(recipe_of(1), titan), Catch::Contains("fused head"));
  titan.modules = ModuleStyle::kTorchTune;
  CHECK_THAT(refusal(recipe_of(1), titan), Catch::Contains("as TRL trains it"));
  StackSetup prompted = setup_of(PreferenceMethod::kDpo);
  prompted.adapter = {.method = AdapterMethod::kPrompt, .virtual_tokens = 8};
  Recipe recipe = recipe_of(1);
  recipe.adapter = {.rank = 1};
  CHECK_THAT(refusal(recipe, prompted), Catch::Contains("switched off"));
}

}  // namespace plimsoll
