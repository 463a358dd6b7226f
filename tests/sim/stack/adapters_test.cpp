#include <catch2/catch.hpp>

#include "core/model/adapter.h"
#include "formats/models/resolve_model.h"
#include "sim/stack/predict_stack.h"
#include "sim/stack/trained_parameters.h"

namespace plimsoll {
namespace {

const char* const kModel = "llama:layers=2,hidden=256,heads=4,kv_heads=2,ffn=704,vocab=1000";

GpuEntry board() { return *find_gpu(built_in_gpu_catalogue(), "A100 80GB SXM"); }

Recipe recipe_beside(const ModelSpec& spec, std::int64_t rank, Precision precision = Precision::kBf16) {
  Recipe recipe;
  recipe.micro_batch = 2;
  recipe.sequence = 128;
  recipe.precision = precision;
  recipe.adapter = {.rank = rank, .alpha = 16, .targets = adapter_targets(spec)};
  return recipe;
}

StackSetup setup_of(AdapterSetup adapter) {
  StackSetup setup;
  setup.adapter = adapter;
  return setup;
}

std::int64_t trained(AdapterSetup adapter, std::int64_t rank) {
  const ModelSpec spec = *resolve_model(kModel);
  return trained_parameters(spec, recipe_beside(spec, rank), setup_of(adapter), board());
}

std::string refusal(const std::string& model, const StackSetup& setup, Precision precision = Precision::kBf16, BaseStorage base = BaseStorage::kCompute) {
  const ModelSpec spec = *resolve_model(model);
  Recipe recipe = recipe_beside(spec, 4, precision);
  recipe.adapter.base = base;
  const auto prediction = predict_stack(spec, recipe, setup, board());
  return prediction ? "" : prediction.error().what;
}

}  // namespace

TEST_CASE("every method trains the parameters that its definition says") {
  // Of a block: q and o 256 x 256, k and v 128 x 256, gate and up 704 x 256, down 256 x 704: their inputs and outputs sum up.
  constexpr std::int64_t kInputs = 6 * 256 + 704, kOutputs = 2 * 256 + 2 * 128 + 2 * 704 + 256, kMatrices = 7, kLayers = 2;
  CHECK(trained({}, 8) == kLayers * 8 * (kInputs + kOutputs));
  CHECK(trained({.method = AdapterMethod::kDora}, 8) == kLayers * (8 * (kInputs + kOutputs) + kOutputs));
  CHECK(trained({.method = AdapterMethod::kAdalora}, 8) == kLayers * (8 * (kInputs + kOutputs) + kMatrices * 8));
  CHECK(trained({.method = AdapterMethod::kVera}, 8) == kLayers * (kOutputs + kMatrices * 8));
  CHECK(trained({.method = AdapterMethod::kLoha}, 8) == kLayers * 2 * 8 * (kInputs + kOutputs));
  CHECK(trained({.method = AdapterMethod::kIa3}, 1) == kLayers * (kOutputs - 256 + 704));  // down's factors are of what it reads
  CHECK(trained({.method = AdapterMethod::kBias}, 1) == kLayers * kOutputs);
  CHECK(trained({.method = AdapterMethod::kNorms}, 1) == 5 * 256);
  CHECK(trained({.method = AdapterMethod::kPrompt, .virtual_tokens = 20}, 1) == 20 * 256);
}

TEST_CASE("copies of embedding and head add their own weights, gradients and states, and untie a tied head") {
  const ModelSpec spec = [] { ModelSpec made = *resolve_model(kModel); made.tied_head = true; return made; }();
  const auto held = [&](AdapterSetup adapter) { return predict_stack(spec, recipe_beside(spec, 8), setup_of(adapter), board())->at_peak; };
  constexpr std::int64_t kTable = 1000 * 256;
  const StackCategories without = held({}), both = held({.copies_embedding = true, .copies_head = true});
  CHECK(both.parameters.count - without.parameters.count == 2 * 2 * kTable);  // bf16, as the model is
  CHECK(both.optimizer.count - without.optimizer.count == 2 * 2 * 2 * kTable);
  CHECK(trained({.copies_embedding = true}, 8) - trained({}, 8) == kTable);
}

TEST_CASE("DoRA makes every matrix and its delta in full, and keeps what the frozen layer made") {
  const ModelSpec spec = *resolve_model(kModel);
  const auto peak = [&](AdapterMethod method) { return predict_stack(spec, recipe_beside(spec, 8), setup_of({.method = method}), board()); };
  const auto lora = peak(AdapterMethod::kLora), dora = peak(AdapterMethod::kDora);
  // Of two blocks' results 2816 wide in all but three of the first, whose input no gradient passes: the frozen layer's in bf16, the
  // adapter's in fp32.
  const double kept = 256.0 * 6 * (2 * 2432 - 512), more = 256.0 * 4 * 512;
  CHECK(static_cast<double>((dora->at_peak.activations - lora->at_peak.activations).count) > 0.8 * (kept + more));
  CHECK(dora->time.hardware_flops > lora->time.hardware_flops);
}

TEST_CASE("what PEFT cannot do, or is not modelled, is refused with a remedy") {
  using Catch::Contains;
  StackSetup dora = setup_of({.method = AdapterMethod::kDora});
  CHECK(refusal(kModel, dora).empty());
  dora.modules = ModuleStyle::kTorchTune;
  CHECK_THAT(refusal(kModel, dora), Contains("dora is modelled as PEFT has it in transformers' modules, not in torchtune's"));
  CHECK_THAT(refusal("gpt2", setup_of({.method = AdapterMethod::kLokr})), Contains("Conv1D"));
  CHECK_THAT(refusal(kModel, setup_of({.method = AdapterMethod::kVera}), Precision::kBf16, BaseStorage::kNf4), Contains("vera beside a base of 4 or 8 bits"));
  CHECK_THAT(refusal(kModel, setup_of({.copies_head = true}), Precision::kFp16Mixed), Contains("no gradients that are in fp16"));
  CHECK_THAT(refusal("gpt:layers=2,hidden=64,heads=4,vocab=100,positions=140", setup_of({.method = AdapterMethod::kPrompt, .virtual_tokens = 20})), Contains("leaves the 140 positions"));
  StackSetup dropped = setup_of({.method = AdapterMethod::kIa3});
  dropped.adapter_dropout = 0.1;
  CHECK_THAT(refusal(kModel, dropped), Contains("ia3 drops nothing"));
}

}  // namespace plimsoll
