#include <catch2/catch.hpp>
#include <string>

#include "core/model/adapter.h"
#include "formats/models/resolve_model.h"
#include "sim/stack/device_room.h"
#include "sim/stack/predict_stack.h"
#include "sim/answers/training_length.h"
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

// GPT-2's blocks and embedding drop a tenth, with a mask of a byte a number; DPO's and KTO's trainers switch that off, GRPO's does not.
TEST_CASE("Dropout is off where answers are preferred, and on where the model learns from its own") {
  const auto requested = [](PreferenceMethod method, std::optional<double> dropout) {
    StackSetup setup = setup_of(method, method == PreferenceMethod::kGrpo ? ReferencePass::kNone : ReferencePass::kPrecomputed);
    setup.recomputation = Recomputation::kNone;
    setup.preference.rollout = Rollout::kElsewhere;
    setup.dropout = dropout;
    const auto made = predict_stack(*resolve_model("gpt:layers=2,hidden=256,heads=4,vocab=1024,positions=512"), recipe_of(4), setup, a100());
    REQUIRE(made);
    return made->peak.requested;
  };
  for (const PreferenceMethod method : {PreferenceMethod::kDpo, PreferenceMethod::kKto}) {
    CHECK(requested(method, {}) == requested(method, 0.0));
    CHECK(requested(method, {}) < requested(method, 0.1));
  }
  CHECK(requested(PreferenceMethod::kGrpo, {}) == requested(PreferenceMethod::kGrpo, 0.1));
  StackSetup adapted = setup_of(PreferenceMethod::kDpo);
  adapted.recomputation = Recomputation::kNone;
  const Bytes without = predicted(with_adapters(2), adapted).peak.requested;
  adapted.adapter_dropout = 0.1;
  CHECK(predicted(with_adapters(2), adapted).peak.requested == without);
}

TEST_CASE("Both sequences of a pair count as tokens, and a pair as one sample") {
  const auto answer_to = [](PreferenceMethod method) {
    const StackSetup setup = setup_of(method);
    return stack_answer(*resolve_model(kModel), recipe_of(2), setup, a100(), predicted(recipe_of(2), setup));
  };
  const FitAnswer pairs = answer_to(PreferenceMethod::kDpo), answers = answer_to(PreferenceMethod::kKto);
  CHECK(pairs.tokens_per_second * pairs.step_seconds == Approx(2 * 2 * 512));
  CHECK(answers.tokens_per_second * answers.step_seconds == Approx(2 * 512));
  LengthRequest million;
  million.tokens = "1M";
  CHECK(training_length(million, *resolve_model(kModel), {.each = 2 * 512})->samples == Approx(1e6 / (2 * 512)));
}

namespace {

StackSetup writing(Rollout rollout, std::int64_t prompt = 256) {
  StackSetup setup = setup_of(PreferenceMethod::kGrpo);
  setup.preference.rollout = rollout;
  setup.preference.prompt = prompt;
  return setup;
}

}  // namespace

// The head of 256 tokens in place of 512 makes 2 · 4 · 256 · 4,096,000 = 8,388,608,000 FLOP less of a forward pass, three times that with backward.
TEST_CASE("Prompts need no log-probabilities") {
  StackSetup prompted = setup_of(PreferenceMethod::kDpo, ReferencePass::kPrecomputed);
  const double whole = predicted(recipe_of(2), prompted).time.model_flops;
  prompted.preference.prompt = 256;
  CHECK(whole - predicted(recipe_of(2), prompted).time.model_flops == 3.0 * 8'388'608'000);
}

TEST_CASE("What vLLM wrote is scored by the model, and by a reference where there is one") {
  const double kScore = kForward - 8'388'608'000.0;
  const double own = predicted(recipe_of(4), writing(Rollout::kTransformers)).time.model_flops;
  CHECK(predicted(recipe_of(4), writing(Rollout::kElsewhere)).time.model_flops - own == kScore);
  StackSetup held = writing(Rollout::kTransformers);
  held.preference.reference = ReferencePass::kCopy;
  CHECK(predicted(recipe_of(4), held).time.model_flops - own == kScore);
}

TEST_CASE("vLLM takes its share of the GPU, with all that it holds") {
  const StackPrediction elsewhere = predicted(recipe_of(4), writing(Rollout::kElsewhere)), beside = predicted(recipe_of(4), writing(Rollout::kVllm));
  const Bytes share = vllm_memory(a100(), writing(Rollout::kVllm));
  CHECK(elsewhere.usable - beside.usable == share);
  CHECK(beside.peak.process == elsewhere.peak.process);
  CHECK(beside.peak.device - elsewhere.peak.device == share);
  StackSetup capped = writing(Rollout::kVllm);
  capped.device_memory = kGiB * 10;
  CHECK(predicted(recipe_of(4), capped).usable == kGiB * 7);  // 0.3 of 10 GiB are vLLM's
  capped.preference.vllm_share = 0.999;
  capped.device_memory = kMiB * 100;  // of which 38 MiB of weights are vLLM's alone
  CHECK(predicted(recipe_of(4), capped).usable < kMiB);
  CHECK_FALSE(predicted(recipe_of(4), capped).fits);
}

// Weights of 19,993,088 parameters in two bytes: 39,986,176 B, of 80 GiB of which the driver shows 0.9894.
TEST_CASE("A share in which vLLM's weights do not lie is refused, the least in which they do is not") {
  StackSetup setup = writing(Rollout::kVllm);
  const double visible = static_cast<double>(vllm_memory(a100(), setup).count) / 0.3;
  setup.preference.vllm_share = 39'986'176 / visible * 0.999;
  CHECK_THAT(refusal(recipe_of(4), setup), Catch::Contains("its weights alone take"));
  setup.preference.vllm_share = 39'986'176 / visible * 1.001;
  CHECK(refusal(recipe_of(4), setup).empty());
}

// Keys and values of an answer of 512 tokens: 4 blocks · 2 · 4 heads · 64 · 2 B · 512 = 2,097,152 B; one of the eight is there twice while it grows.
TEST_CASE("Transformers write a whole step's answers at once, whose cache is the peak where there are many") {
  const auto held = [&](std::int64_t answers) {
    Recipe recipe = recipe_of(1);
    recipe.accumulate = answers;
    return predicted(recipe, writing(Rollout::kTransformers, 16)).peak.requested;
  };
  CHECK(static_cast<double>((held(1024) - held(512)).count) == Approx(512.0 * (2'097'152 + 262'144)).epsilon(0.005));
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
  CHECK_THAT(refusal(recipe_of(1), writing(Rollout::kTransformers, 0)), Catch::Contains("behind a prompt"));
  CHECK_THAT(refusal(recipe_of(1), writing(Rollout::kVllm, 512)), Catch::Contains("leaves nothing"));
  StackSetup llmc = setup_of(PreferenceMethod::kDpo);
  llmc.stack = Stack::kLlmc;
  CHECK_THAT(refusal(recipe_of(1), llmc), Catch::Contains("as TRL trains it"));
  StackSetup prompted_texts = setup_of(PreferenceMethod::kNone);
  prompted_texts.preference.prompt = 8;
  CHECK_THAT(refusal(recipe_of(1), prompted_texts), Catch::Contains("where answers are preferred"));
  StackSetup shared = writing(Rollout::kTransformers);
  shared.data_ranks = 2;
  shared.zero = 3;
  CHECK_THAT(refusal(recipe_of(1), shared), Catch::Contains("share its weights"));
  CHECK_THAT(refusal(recipe_of(1), setup_of(PreferenceMethod::kDpo, ReferencePass::kNone)), Catch::Contains("no reference of dpo"));
  StackSetup prompted = setup_of(PreferenceMethod::kDpo);
  prompted.adapter = {.method = AdapterMethod::kPrompt, .virtual_tokens = 8};
  Recipe recipe = recipe_of(1);
  recipe.adapter = {.rank = 1};
  CHECK_THAT(refusal(recipe, prompted), Catch::Contains("switched off"));
}

}  // namespace plimsoll
