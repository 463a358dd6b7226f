// States of the optimizers for small GPUs: their bytes beside those of the packages themselves (tests/reference/make_form_bytes.py
// wrote data/optimizer_form_bytes.csv), and what fits with them.
#include <catch2/catch.hpp>

#include <fstream>
#include <sstream>

#include "core/model/parameters.h"
#include "formats/models/resolve_model.h"
#include "sim/stack/optimizer_step.h"
#include "sim/stack/predict_stack.h"
#include "sim/stack/projected_update.h"

namespace plimsoll {
namespace {

GpuEntry gpu(const char* name) { return *find_gpu(built_in_gpu_catalogue(), name); }

StackPrediction predict(const char* model, const Recipe& recipe, const StackSetup& setup, const char* board = "RTX 4090") {
  const auto prediction = predict_stack(*resolve_model(model), recipe, setup, gpu(board));
  if (!prediction) FAIL(prediction.error().text());
  return *prediction;
}

Recipe recipe_of(OptimizerKind kind, Precision precision = Precision::kBf16) {
  Recipe recipe{.precision = precision, .micro_batch = 1, .sequence = 64};
  recipe.optimizer = kind;
  recipe.clip = 0;
  return recipe;
}

OptimizerForm form_of(const std::string& projection, int bits = 0, bool paged = false) {
  OptimizerForm form = projection.empty() ? OptimizerForm{} : *parse_projection(projection);
  form.bits = bits;
  form.paged = paged;
  return form;
}

/// Bytes of what one step of the form leaves of a matrix of a block, or of another tensor.
std::int64_t kept_bytes(Shape shape, bool hidden, OptimizerKind kind, DType dtype, const OptimizerForm& form) {
  TapeOptions options;
  options.optimizer_form = form;
  Tape tape(options);
  Parameter& parameter = tape.parameter(hidden ? "block 0.weight" : "embedding", std::move(shape), dtype);
  parameter.gradient = tape.empty(parameter.value.shape, dtype, Holding::kGradients);
  Recipe recipe = recipe_of(kind, dtype == DType::kBf16 ? Precision::kBf16 : Precision::kFp32);
  optimizer_step(tape, {&parameter}, recipe, OptimizerLoop::kForeach);
  std::int64_t bytes = 0;
  for (const Tensor& state : parameter.states) bytes += state.bytes().count;
  return bytes;
}

}  // namespace

TEST_CASE("states of GaLore, APOLLO, torchao's 4 bits and bitsandbytes are as large as the packages make them, to the byte") {
  std::ifstream file(PLIMSOLL_FORM_BYTES);
  std::string line;
  REQUIRE(std::getline(file, line));
  int cases = 0;
  while (std::getline(file, line)) {
    if (line.starts_with("#")) continue;
    std::istringstream words(line);
    std::string package, optimizer, projection, bits, rows, columns, type, bytes;
    for (std::string* word : {&package, &optimizer, &projection, &bits, &rows, &columns, &type, &bytes}) std::getline(words, *word, ',');
    const Shape shape = columns == "0" ? Shape{std::stoll(rows)} : Shape{std::stoll(rows), std::stoll(columns)};
    INFO(line);
    CHECK(kept_bytes(shape, !projection.empty(), *parse_optimizer(optimizer), type == "bf16" ? DType::kBf16 : DType::kFp32,
                     form_of(projection, std::stoi(bits), package == "bitsandbytes")) == std::stoll(bytes));
    ++cases;
  }
  CHECK(cases >= 20);
}

TEST_CASE("a projection is read with its rank and its steps, and anything else is refused with what there is") {
  CHECK(*parse_projection("galore:1024") == OptimizerForm{.projection = GradientProjection::kGalore, .rank = 1024});
  CHECK(*parse_projection("apollo:256:50") == OptimizerForm{.projection = GradientProjection::kApollo, .rank = 256, .every = 50});
  CHECK(*parse_projection("apollo-mini") == OptimizerForm{.projection = GradientProjection::kApolloMini, .rank = 1});
  CHECK(*parse_projection("apollo-mini:50") == OptimizerForm{.projection = GradientProjection::kApolloMini, .rank = 1, .every = 50});
  for (const char* text : {"galore", "galore:", "galore:0", "galore:-4", "galore:1:2:3", "apollo-mini:1:2", "galore:1e3", "fira:4", ""}) {
    INFO(text);
    CHECK_FALSE(parse_projection(text));
  }
}

TEST_CASE("what no package does is refused by name: other stacks, sharing, rules, adapters, and two forms at once") {
  const auto refusal = [](const Recipe& recipe, const StackSetup& setup) {
    const auto checked = check_optimizer_form(*resolve_model("gpt2"), recipe, setup);
    return checked ? std::string() : checked.error().text();
  };
  const StackSetup galore{.optimizer_form = form_of("galore:64")}, narrow{.optimizer_form = form_of("", 4)}, paged{.optimizer_form = form_of("", 0, true)};
  const Recipe adamw = recipe_of(OptimizerKind::kAdamW), eight = recipe_of(OptimizerKind::kAdam8bit);
  for (const StackSetup& setup : {galore, narrow, paged}) CHECK(refusal(adamw, setup).empty());
  CHECK(refusal(eight, galore).empty());
  CHECK(refusal(eight, paged).empty());
  CHECK_THAT(refusal(eight, narrow), Catch::Contains("4 bits"));
  StackSetup elsewhere = galore, sharded = paged, both = galore, narrow_pages = narrow;
  elsewhere.stack = Stack::kDeepspeed;
  sharded.zero = 3;
  both.optimizer_form.paged = true;
  narrow_pages.optimizer_form.paged = true;
  CHECK_THAT(refusal(adamw, elsewhere), Catch::Contains("--projection") && Catch::Contains("deepspeed"));
  CHECK_THAT(refusal(adamw, sharded), Catch::Contains("--paged-states"));
  CHECK_THAT(refusal(adamw, both), Catch::Contains("GaLore"));
  CHECK_THAT(refusal(adamw, narrow_pages), Catch::Contains("4"));
  CHECK_THAT(refusal(recipe_of(OptimizerKind::kLion), galore), Catch::Contains("lion"));
  CHECK_THAT(refusal(recipe_of(OptimizerKind::kMuon), paged), Catch::Contains("muon"));
  StackSetup net = galore;
  net.modules = ModuleStyle::kTorchVision;
  CHECK_THAT(predict_stack(*resolve_model("resnet50"), adamw, net, gpu("RTX 4090")).error().text(), Catch::Contains("resnet50"));
  Recipe adapted = adamw;
  adapted.adapter.rank = 4;
  CHECK_THAT(refusal(adapted, galore), Catch::Contains("adapters"));
  // GPT-2's matrices are 768 wide on one side.
  CHECK(refusal(adamw, {.optimizer_form = form_of("galore:768")}).empty());
  CHECK_THAT(refusal(adamw, {.optimizer_form = form_of("galore:769")}), Catch::Contains("rank 769") && Catch::Contains("768 or less"));
  CHECK_THAT(refusal(adamw, {.optimizer_form = form_of("apollo:1024")}), Catch::Contains("APOLLO of rank 1024"));
}

// Of Llama-7B's 6738415616 parameters in bf16, 6476005376 are of blocks' matrices: 32 of 4 · 4096² + 3 · 4096 · 11008.
TEST_CASE("GaLore's moments and projectors of Llama-7B take what its ranks say, beside one gradient at a time") {
  Recipe recipe = recipe_of(OptimizerKind::kAdam8bit);
  StackSetup setup{.recomputation = Recomputation::kFull, .optimizer_form = form_of("galore:1024"), .update_in_backward = true};
  const StackPrediction galore = predict("llama-7b", recipe, setup);
  // Projectors 1024 · 4096 · 2 bytes; moments 2 · (1 + 4/256) bytes of 1024 · 4096 and 1024 · 11008; of embedding, head and norms all.
  const double projectors = 32.0 * 7 * 1024 * 4096 * 2;
  const double moments = 32 * 1024.0 * (4 * 4096 + 3 * 11008) * 2 * (1 + 1.0 / 64);
  const double others = 2.0 * 32000 * 4096 * 2 * (1 + 1.0 / 64);
  CHECK(static_cast<double>(galore.at_peak.optimizer.count) == Approx(projectors + moments + others).epsilon(0.01));
  setup.optimizer_form = {};
  const StackPrediction plain = predict("llama-7b", recipe, setup);
  CHECK(plain.at_peak.optimizer > galore.at_peak.optimizer);
  CHECK(galore.fits);
  CHECK_FALSE(predict("llama-7b", recipe_of(OptimizerKind::kAdamW), {.recomputation = Recomputation::kFull}).fits);
}

TEST_CASE("a decomposition's share of a step falls with the steps between projectors") {
  const Recipe recipe = recipe_of(OptimizerKind::kAdamW, Precision::kFp32);
  const auto optimizer_time = [&](const char* projection) {
    return predict("gpt2", recipe, {.optimizer_form = form_of(projection)}).time.optimizer;
  };
  const double often = optimizer_time("galore:128:10"), seldom = optimizer_time("galore:128:1000"), never = optimizer_time("apollo:128");
  CHECK(often > seldom);
  CHECK(never > 0);
  // 14mn² + 8n³ of a square matrix, 6mn² + 20n³ of a long one, whichever way it lies.
  CHECK(decomposition_flops(100, 100) == 22e6);
  CHECK(decomposition_flops(1000, 10) == 620e3);
  CHECK(decomposition_flops(10, 1000) == 620e3);
}

TEST_CASE("paged states cost nothing where there is room, and else wait in host memory and cross the link twice a step") {
  Recipe recipe = recipe_of(OptimizerKind::kAdamW);
  const StackSetup paged{.recomputation = Recomputation::kFull, .optimizer_form = form_of("", 0, true)};
  const StackPrediction roomy = predict("gpt2", recipe, paged);
  CHECK(roomy.fits);
  CHECK(roomy.paged_out == Bytes(0));
  // 8 bytes of each parameter of TinyLlama's 1.1 G in fp32, all but the norms' of fewer than 100000 elements.
  const StackPrediction whole = predict("tinyllama-1.1b", recipe, paged);
  StackSetup small = paged;
  small.device_memory = Bytes(8'000'000'000);
  const StackPrediction tight = predict("tinyllama-1.1b", recipe, small);
  const double states = 8.0 * static_cast<double>(parameter_count(*resolve_model("tinyllama-1.1b")));
  CHECK(whole.fits);
  CHECK(whole.paged_out == Bytes(0));
  CHECK(tight.fits);
  CHECK(static_cast<double>(whole.at_peak.optimizer.count) == Approx(states).epsilon(1e-3));
  // What waits is what the device has no room for beside what the allocator reserved.
  CHECK(static_cast<double>(tight.paged_out.count) == Approx(states - static_cast<double>((*small.device_memory - tight.peak.reserved).count)).epsilon(1e-3));
  CHECK(tight.host - whole.host == tight.paged_out);
  // PCIe 4 x16 reaches some 25 GB/s: 2 · 8.8 GB take 0.7 s more.
  CHECK(tight.time.step - whole.time.step == Approx(2 * states / 25e9).epsilon(0.15));
  StackSetup unpaged = small;
  unpaged.optimizer_form = {};
  recipe.precision = Precision::kFp32;
  CHECK_FALSE(predict("tinyllama-1.1b", recipe, unpaged).fits);
}

TEST_CASE("a GPU that cannot hold what is no state is too small whatever is paged") {
  StackSetup paged{.optimizer_form = form_of("", 0, true)};
  paged.device_memory = Bytes(3'000'000'000);
  const StackPrediction prediction = predict("tinyllama-1.1b", recipe_of(OptimizerKind::kAdamW), paged);
  CHECK_FALSE(prediction.fits);
  CHECK(prediction.margin < Bytes(0));
}

}  // namespace plimsoll
