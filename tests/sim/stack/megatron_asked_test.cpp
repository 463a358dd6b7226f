#include <catch2/catch.hpp>

#include <string>

#include "formats/models/resolve_model.h"
#include "sim/stack/megatron/check_megatron.h"
#include "sim/stack/predict_stack.h"
#include "tests/sim/stack/megatron_case.h"

namespace plimsoll {
namespace {

constexpr double kRows = 8.0 * 1024;  // of 8 sequences
constexpr double kWidth = 1024;       // 16 heads of 64
constexpr double kInput = 2 * kRows * kWidth;  // what a checkpoint keeps, in two bytes
constexpr const char* kBoard = "H100 SXM5 80GB";

Recipe recipe() { return megatron_recipe(8, 1024, 4); }

StackSetup megatron(std::int64_t every) {
  StackSetup setup = megatron_setup(AttentionKernel::kFlash);
  setup.deterministic = false;
  setup.dropout = 0.1;
  setup.recomputation = every > 0 ? Recomputation::kEvery : Recomputation::kNone;
  setup.every = every;
  return setup;
}

ModelSpec gpt(int layers, int words) {
  return *resolve_model("gpt:layers=" + std::to_string(layers) + ",hidden=1024,heads=16,vocab=" + std::to_string(words) + ",positions=1024");
}

StackPrediction told(const ModelSpec& spec, const StackSetup& setup) {
  const auto prediction = predict_stack(spec, recipe(), setup, *find_gpu(built_in_gpu_catalogue(), kBoard));
  if (!prediction) FAIL(prediction.error().what);
  return *prediction;
}

/// Activations at the peak.
double activations(const ModelSpec& spec, const StackSetup& setup) { return static_cast<double>(told(spec, setup).at_peak.activations.count); }

Error refusal(const ModelSpec& spec, const StackSetup& setup, const Recipe& asked = recipe(), const char* board = kBoard) {
  const auto prediction = predict_stack(spec, asked, setup, *find_gpu(built_in_gpu_catalogue(), board));
  REQUIRE_FALSE(prediction);
  return prediction.error();
}

}  // namespace

TEST_CASE("A checkpoint of several layers keeps one input of all of them, as Megatron's uniform method does") {
  // With 65,536 words the peak is at the loss, where every checkpoint has its input and nothing of its layers. Of eight layers in place of four:
  // four inputs more, two, or one; a last checkpoint may stand for fewer layers.
  const auto at_loss = [](int layers, std::int64_t every) { return activations(gpt(layers, 65536), megatron(every)); };
  CHECK(at_loss(8, 1) - at_loss(4, 1) == Approx(4 * kInput).epsilon(1e-3));
  CHECK(at_loss(8, 2) - at_loss(4, 2) == Approx(2 * kInput).epsilon(1e-3));
  CHECK(at_loss(8, 4) - at_loss(4, 4) == Approx(kInput).epsilon(1e-3));
  CHECK(at_loss(5, 2) - at_loss(4, 2) == Approx(kInput).epsilon(1e-3));
  CHECK(at_loss(6, 2) == at_loss(5, 2));
  StackSetup full = megatron(0);
  full.recomputation = Recomputation::kFull;
  CHECK(activations(gpt(8, 65536), full) == at_loss(8, 1));
}

TEST_CASE("All layers of a checkpoint lie there at once when it runs again") {
  // With 128 words the peak is in the last checkpoint's backward pass. A layer keeps 34 bytes a row and column (Korthikanti et al. 2022, without
  // scores), and 4 · 16 of sums of attention a row. Of eight layers, checkpoints of four have two layers more and two inputs fewer than of two.
  const double layer = 34 * kRows * kWidth + 4 * 16 * kRows;
  const double difference = activations(gpt(8, 128), megatron(4)) - activations(gpt(8, 128), megatron(2));
  CHECK(difference == Approx(2 * layer - 2 * kInput).epsilon(5e-3));
}

TEST_CASE("A checkpoint does not reach from one interleaved chunk into the next") {
  // Eight layers in two chunks on each of two stages: two layers a chunk, so that checkpoints of two, three or more are the same.
  const auto chunked = [](std::int64_t every) {
    StackSetup setup = megatron(every);
    setup.stages = setup.chunks = 2;
    return told(gpt(8, 32768), setup).peak.allocated;
  };
  CHECK(chunked(3) == chunked(2));
  CHECK(chunked(1) != chunked(2));
}

TEST_CASE("DeepSpeed's pipeline, which counts checkpoints otherwise, is refused those of several layers") {
  StackSetup setup = megatron(2);
  setup.stack = Stack::kDeepspeed;
  setup.tensor_ranks = 2;
  CHECK(refusal(gpt(8, 32768), setup).where == "--recompute");
  setup.every = 1;
  CHECK(told(gpt(8, 32768), setup).peak.allocated.count > 0);
}

TEST_CASE("Sharing of gradients and weights is Megatron's FSDP, not its distributed optimizer") {
  for (const int zero : {2, 3}) {
    StackSetup setup = megatron(0);
    setup.zero = zero;
    setup.data_ranks = 4;
    CHECK(takes_megatron_fsdp(setup));
    const Error error = refusal(gpt(4, 32768), setup);
    CHECK(error.where == "--zero");
    CHECK(error.what.find("FSDP") != std::string::npos);
    CHECK(error.remedy.find("--zero 1") != std::string::npos);
  }
  CHECK_FALSE(takes_megatron_fsdp({.stack = Stack::kPytorch, .zero = 3}));
}

TEST_CASE("Models whose layers are not Megatron's are refused by what they have") {
  const auto what = [](const char* model) { return refusal(*resolve_model(model), megatron(0)).what; };
  for (const char* model : {"phi-2", "gpt-j-6b", "pythia-1b", "gpt-neox-20b", "palm-8b", "falcon-7b"}) {
    INFO(model);
    CHECK(what(model).find("side by side") != std::string::npos);
  }
  CHECK(what("t5-small").find("behind an encoder") != std::string::npos);
  CHECK(what("mosaicml/mpt-7b").find("ALiBi") != std::string::npos);
  CHECK(what("opt-1.3b").find("ReLU") != std::string::npos);
  CHECK(what("opt-350m").find("behind the sums") != std::string::npos);
  ModelSpec narrow = gpt(4, 32768);
  narrow.embedding_width = 512;
  CHECK(refusal(narrow, megatron(0)).what.find("narrower") != std::string::npos);
  ModelSpec normed = gpt(4, 32768);
  normed.embedding_norm = true;
  CHECK(refusal(normed, megatron(0)).what.find("behind its embeddings") != std::string::npos);
  ModelSpec biased = gpt(4, 32768);
  biased.head_bias = true;
  CHECK(refusal(biased, megatron(0)).what.find("head with biases") != std::string::npos);
}

TEST_CASE("What Megatron-LM or its layers do not do is refused by the option that asks for it") {
  const auto where = [](auto change) {
    StackSetup setup = megatron(0);
    Recipe asked = recipe();
    change(setup, asked);
    return refusal(gpt(4, 32768), setup, asked).where;
  };
  CHECK(where([](StackSetup& setup, Recipe&) { setup.compile = true; }) == "--compile");
  CHECK(where([](StackSetup& setup, Recipe&) { setup.loss_chunks = 2; }) == "--loss-chunks");
  CHECK(where([](StackSetup& setup, Recipe&) { setup.update_in_backward = true; }) == "--update-in-backward");
  CHECK(where([](StackSetup& setup, Recipe&) { setup.attention = AttentionKernel::kEfficient; }) == "--attention");
  CHECK(where([](StackSetup& setup, Recipe&) { setup.optimizer = Home::kHost; }) == "--offload");
  CHECK(where([](StackSetup& setup, Recipe&) {
          setup.recomputation = Recomputation::kFull;
          setup.activations = Home::kHost;
        }) == "--offload");
  CHECK(where([](StackSetup&, Recipe& asked) { asked.optimizer = OptimizerKind::kAdafactor; }) == "--optimizer");
  CHECK(where([](StackSetup&, Recipe& asked) { asked.precision = Precision::kBf16; }) == "--precision");
  StackSetup setup = megatron(0);
  setup.attention = AttentionKernel::kCudnn;
  CHECK(refusal(gpt(4, 32768), setup, recipe(), "A100 80GB SXM4").where == "--attention");
  CHECK(told(gpt(4, 32768), setup).peak.allocated.count > 0);
}

TEST_CASE("An answer says where Megatron-LM's own way stands in place of what was named") {
  const auto says = [](const StackPrediction& prediction, const char* words) {
    for (const std::string& taken : prediction.assumptions) {
      if (taken.find(words) != std::string::npos) return true;
    }
    return false;
  };
  Recipe short_recipe = recipe();
  short_recipe.sequence = 512;
  const auto bert = predict_stack(*resolve_model("bert-base-uncased"), short_recipe, megatron(0), *find_gpu(built_in_gpu_catalogue(), kBoard));
  REQUIRE(bert);
  CHECK(says(*bert, "Megatron-LM's own"));
  CHECK(says(told(gpt(4, 32768), megatron(0)), "cuDNN's"));
  StackSetup unsaid = megatron(0);
  unsaid.attention.reset();
  CHECK_FALSE(says(told(gpt(4, 32768), unsaid), "cuDNN's"));
}

}  // namespace plimsoll
