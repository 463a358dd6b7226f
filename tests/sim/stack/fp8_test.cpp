#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "formats/models/resolve_model.h"
#include "sim/stack/megatron/megatron_stage.h"
#include "sim/stack/predict_stack.h"
#include "sim/stack/tape/fp8_products.h"
#include "tests/sim/stack/megatron_case.h"

namespace plimsoll {
namespace {

Bytes alive(const Tape& tape, Holding asked) {
  Bytes sum;
  for (const StorageEvent& event : tape.log().events()) {
    if (event.holding != asked) continue;
    if (event.change == StorageChange::kBorn) sum += event.bytes;
    if (event.change == StorageChange::kDied) sum -= event.bytes;
  }
  return sum;
}

TapeOptions rules(Fp8Rules fp8) {
  TapeOptions options;
  options.fp8 = fp8;
  return options;
}

/// Rows of 64 tokens through [48, 32]: x 64·32, y 64·48 numbers.
struct Layer {
  explicit Layer(Tape& tape, bool fp8, DType type = DType::kBf16)
      : weights{.weight = &tape.parameter("w", {48, 32}, type), .bias = nullptr, .fp8 = fp8} {}
  Weights weights;
};

/// What a layer keeps for backward beside its result, whose input asked for a gradient and was let go.
std::int64_t kept(Fp8Rules fp8, bool narrow) {
  Tape tape(rules(fp8));
  const Layer layer(tape, narrow);
  Tensor x = tape.empty({64, 32}, DType::kBf16);
  x.maker = std::make_shared<Node>();
  const Tensor y = linear(tape, x, layer.weights);
  x = {};
  return (alive(tape, Holding::kActivations) - y.bytes()).count;
}

double bytes_of(const Tape& tape, StackKernelSort sort) {
  double bytes = 0;
  for (const StackKernel& kernel : tape.kernels()) bytes += kernel.sort == sort ? kernel.bytes : 0;
  return bytes;
}

StackPrediction predict(const std::string& model, const Recipe& recipe, const StackSetup& setup, const char* board) {
  const auto made = predict_stack(*resolve_model(model), recipe, setup, *find_gpu(built_in_gpu_catalogue(), board));
  INFO((made ? std::string() : made.error().text()));
  REQUIRE(made);
  return *made;
}

Error refusal(const std::string& model, const Recipe& recipe, const StackSetup& setup, const char* board) {
  const auto made = predict_stack(*resolve_model(model), recipe, setup, *find_gpu(built_in_gpu_catalogue(), board));
  REQUIRE(!made);
  return made.error();
}

Recipe recipe(std::int64_t batch, std::int64_t sequence, std::int64_t accumulate = 1) { return megatron_recipe(batch, sequence, accumulate); }

StackSetup with_fp8(Stack stack, Fp8Setup fp8) {
  StackSetup setup;
  setup.stack = stack;
  setup.fp8 = fp8;
  if (stack == Stack::kMegatron) setup.modules = ModuleStyle::kMegatron;
  setup.attention = AttentionKernel::kFlash;
  setup.dropout = 0;
  return setup;
}

constexpr Fp8Rules kHopper{.transposes = true};
constexpr Fp8Rules kBlackwell{};
constexpr Fp8Rules kTorchao{.transposes = true, .finds_largest = true, .keeps_wide = true};

}  // namespace

TEST_CASE("A linear layer in fp8 keeps one byte of its input and of its weight, torchao's two") {
  const std::int64_t input = 64 * 32, weight = 48 * 32;
  CHECK(kept(kHopper, false) == 2 * input);               // bf16: the input; its weight is a parameter
  CHECK(kept(kHopper, true) == input + weight);           // both transposed
  CHECK(kept(kBlackwell, true) == input + weight);        // both as they lie
  CHECK(kept(kTorchao, true) == 2 * input);
}

TEST_CASE("A cast to fp8 reads once with delayed scaling and twice with current, and writes what will be read") {
  const auto moved = [](Fp8Rules fp8, Fp8Uses uses) {
    Tape tape(rules(fp8));
    to_fp8(tape, tape.empty({64, 32}, DType::kBf16), uses);
    return bytes_of(tape, StackKernelSort::kPass) + bytes_of(tape, StackKernelSort::kStream);
  };
  const double x = 64 * 32;
  CHECK(moved(kHopper, {.rows = true, .columns = true}) == (2 + 1 + 1) * x);
  CHECK(moved(kHopper, {.rows = true}) == (2 + 1) * x);
  CHECK(moved(kBlackwell, {.rows = true, .columns = true}) == (2 + 1) * x);
  CHECK(moved({.transposes = true, .finds_largest = true}, {.rows = true, .columns = true}) == (2 + 2 + 1 + 1) * x);
}

TEST_CASE("The three products of a layer in fp8 read one byte and write two") {
  Tape tape(rules(kHopper));
  const Layer layer(tape, true);
  Tensor x = tape.empty({64, 32}, DType::kBf16);
  x.maker = std::make_shared<Node>();
  const Tensor y = linear(tape, x, layer.weights);
  tape.phase(Phase::kBackward);
  tape.backward(y, tape.empty({64, 48}, DType::kBf16));
  int products = 0;
  for (const StackKernel& kernel : tape.kernels()) {
    if (kernel.sort != StackKernelSort::kProduct) continue;
    ++products;
    CHECK(kernel.dtype == kFp8Type);
    CHECK(kernel.flops == 2.0 * 64 * 48 * 32);
    CHECK(kernel.bytes == static_cast<double>(kernel.m * kernel.k + kernel.k * kernel.n + 2 * kernel.m * kernel.n));
  }
  CHECK(products == 3);
}

TEST_CASE("Autograd hands a weight's gradient over in the weight's own type") {
  Tape tape(rules(kHopper));
  const Layer layer(tape, true, DType::kFp32);
  Tensor y;
  tape.with_autocast(DType::kBf16, [&] { y = linear(tape, tape.empty({64, 32}, DType::kBf16), layer.weights); });
  tape.phase(Phase::kBackward);
  tape.backward(y, tape.empty({64, 48}, DType::kBf16));
  CHECK(layer.weights.weight->gradient.dtype == DType::kFp32);
}

TEST_CASE("Weights in 8 bits are cast once a step, and stay over its micro-batches") {
  Tape tape(rules(kHopper));
  const Layer layer(tape, true);
  const std::int64_t weight = 48 * 32;
  tape.step(1);
  for (int i = 0; i < 3; ++i) cached_fp8(tape, *layer.weights.weight);
  CHECK((alive(tape, Holding::kParameters) - layer.weights.weight->value.bytes()).count == 2 * weight);
  CHECK(bytes_of(tape, StackKernelSort::kPass) == (2 + 2) * weight);
  tape.step(2);
  cached_fp8(tape, *layer.weights.weight);
  CHECK((alive(tape, Holding::kParameters) - layer.weights.weight->value.bytes()).count == 2 * weight);
  CHECK(bytes_of(tape, StackKernelSort::kPass) == 2 * (2 + 2) * weight);
}

TEST_CASE("A block of Megatron keeps in fp8 what Transformer Engine saves") {
  // GPT, hidden h, ffn 4h, T tokens, bytes over Th. bf16: norm 2, qkv 2, attention 6 + 2 (its result is the projection's input), norm 2,
  // feed 2, activation 8, out 8 = 32. fp8: norm 2, qkv 1, attention 6 + 2, projection 1, norm 2, feed 1, activation 8, out 4 = 27.
  // Weights: 12 h² in bf16 and twice in 8 bits.
  const std::int64_t T = 8 * 1024, h = 1024;
  const auto at = [&](Fp8Setup fp8, auto read) {
    const auto held = [&](int layers) {
      const std::string model = "gpt:layers=" + std::to_string(layers) + ",hidden=1024,heads=16,vocab=32768,positions=1024";
      return read(predict(model, recipe(8, 1024), with_fp8(Stack::kMegatron, fp8), "H100 SXM5 80GB").at_peak);
    };
    return static_cast<double>(held(8) - held(4)) / 4;
  };
  const auto activations = [](const StackCategories& held) { return held.activations.count; };
  const auto parameters = [](const StackCategories& held) { return held.parameters.count; };
  const Fp8Setup delayed{.scaling = Fp8Scaling::kDelayed};
  const double saved = at({}, activations) - at(delayed, activations);
  CHECK(saved == Approx((32.0 - 27) * T * h).epsilon(1e-3));
  // Blocks of the allocator that are not split off may be up to a MiB larger than what they hold.
  CHECK(at(delayed, parameters) - at({}, parameters) == Approx(2.0 * 12 * h * h).margin(1.5 * 1048576));
  // Weights that are in 8 bits themselves: a byte and its transposed copy in place of two.
  const Fp8Setup own{.scaling = Fp8Scaling::kDelayed, .parameters = true};
  CHECK(at(own, parameters) - at({}, parameters) == Approx(0).margin(1.5 * 1048576));
}

TEST_CASE("Megatron's golden bytes of a training with weights in fp8 are met") {
  // NVIDIA/Megatron-LM, gpt3_weekly_mcore_tp4_cp2_current_scaling_native_fp8_tp_sp_cp_tp_overlap: 425,122,816 at the most on an H100.
  // Its steady bytes are 9,438,208 above a GB200's: a transposed byte of 12 layers' 12 · 512² weights over 4 ranks, 9,437,184.
  StackSetup setup = with_fp8(Stack::kMegatron, {.scaling = Fp8Scaling::kCurrent, .parameters = true});
  setup.loop = OptimizerLoop::kFused;
  setup.dropout = 0.1;
  setup.tensor_ranks = 4;
  setup.context_ranks = 2;
  setup.sequence_parallel = true;
  setup.zero = 1;
  setup.deterministic = true;
  const auto on = [&](const char* board) {
    return predict("gpt:layers=12,hidden=512,heads=8,vocab=50304,positions=1024", recipe(2, 1024, 8), setup, board);
  };
  CHECK(static_cast<double>(on("H100 SXM5 80GB").peak.allocated.count) == Approx(425122816.0).epsilon(0.005));
  const Bytes copies = on("H100 SXM5 80GB").at_peak.parameters - on("B200 SXM 180GB").at_peak.parameters;
  CHECK(static_cast<double>(copies.count) == Approx(9438208.0).epsilon(0.005));
}

TEST_CASE("Blocks at the ends stay in two bytes where the setup says so") {
  const auto products = [](std::int64_t ends) {
    StackSetup setup = with_fp8(Stack::kPytorch, {.scaling = Fp8Scaling::kCurrent, .wide_ends = ends});
    return predict("llama:layers=6,hidden=4096,heads=32,ffn=11008,vocab=32000", recipe(1, 4096), setup, "H100 SXM5 80GB").time.step;
  };
  CHECK(products(0) < products(1));
  CHECK(products(1) < products(2));
}

/// DeepSpeed's two stages of five layers are of three and two: the second holds layers 3 and 4, of which 4 is the model's last.
TEST_CASE("The last blocks are counted over uneven stages too") {
  const ModelSpec spec = *resolve_model("gpt:layers=5,hidden=256,heads=4,vocab=512,positions=128");
  StackSetup setup = with_fp8(Stack::kDeepspeed, {.scaling = Fp8Scaling::kDelayed, .parameters = true, .wide_ends = 1});
  setup.stages = 2;
  Tape tape{TapeOptions{}};
  const Recipe asked = recipe(1, 128);
  const MegatronStage stage(tape, spec, asked, setup, 1, megatron_cut(spec, asked, setup, "9.0"));
  std::vector<bool> narrow;
  for (const Parameter& parameter : tape.parameters())
    if (parameter.name.find(".qkv.weight") != std::string::npos) narrow.push_back(parameter.value.dtype == kFp8Type);
  CHECK(narrow == std::vector<bool>{true, false});
}

TEST_CASE("Large layers are faster in fp8 and small ones may not be") {
  const auto gain = [](const char* model, std::int64_t sequence) {
    const auto time = [&](Fp8Setup fp8) { return predict(model, recipe(1, sequence), with_fp8(Stack::kMegatron, fp8), "H100 SXM5 80GB").time.step; };
    return time({}) / time({.scaling = Fp8Scaling::kDelayed});
  };
  CHECK(gain("gpt:layers=4,hidden=8192,heads=64,vocab=32000,positions=4096", 4096) > 1.2);
  CHECK(gain("gpt:layers=4,hidden=256,heads=4,vocab=32000,positions=128", 128) < 1.05);
}

TEST_CASE("A step with fp8 products is told with the wider interval") {
  const auto width = [](Fp8Setup fp8) {
    const StackTime time = predict("llama3.2-1b", recipe(1, 2048), with_fp8(Stack::kPytorch, fp8), "H100 SXM5 80GB").time;
    return (time.high - time.low) / time.step;
  };
  CHECK(width({.scaling = Fp8Scaling::kCurrent}) > width({}));
}

TEST_CASE("What cannot multiply in fp8 is refused by name") {
  const Fp8Setup delayed{.scaling = Fp8Scaling::kDelayed};
  using Catch::Contains;
  CHECK_THAT(refusal("gpt2", recipe(1, 1024), with_fp8(Stack::kPytorch, delayed), "A100 80GB SXM4").what, Contains("no matrix units for fp8"));
  CHECK_THAT(refusal("gpt2", recipe(1, 1024), with_fp8(Stack::kColossalai, delayed), "H100 SXM5 80GB").what, Contains("Transformer Engine"));
  CHECK_THAT(refusal("gpt2", recipe(1, 1023), with_fp8(Stack::kPytorch, delayed), "H100 SXM5 80GB").what, Contains("multiple of 8"));
  CHECK_THAT(refusal("gpt2", recipe(1, 1024), with_fp8(Stack::kPytorch, {.scaling = Fp8Scaling::kDelayed, .parameters = true}), "L40S").what, Contains("Megatron"));
  CHECK_THAT(refusal("gpt2", recipe(1, 1024), with_fp8(Stack::kPytorch, {.scaling = Fp8Scaling::kDelayed, .wide_ends = 6}), "L40S").what, Contains("none is left"));
  Recipe wide = recipe(1, 1024);
  wide.precision = Precision::kFp32;
  CHECK_THAT(refusal("gpt2", wide, with_fp8(Stack::kPytorch, delayed), "RTX 4090").what, Contains("two bytes"));
}

TEST_CASE("Queries of a context rank are timed against the keys of all") {
  StackSetup setup = with_fp8(Stack::kMegatron, {});
  const auto flops = [&](std::int64_t ranks, std::int64_t sequence) {
    setup.context_ranks = ranks;
    return predict("gpt:layers=2,hidden=1024,heads=8,vocab=32768,positions=16384", recipe(1, sequence), setup, "H100 SXM5 80GB").time.model_flops;
  };
  CHECK(2 * flops(2, 16384) == Approx(flops(1, 16384)));
}

TEST_CASE("Context ranks share the distributed optimizer's states, as they have the same weights") {
  StackSetup setup = with_fp8(Stack::kMegatron, {});
  setup.zero = 1;
  const auto states = [&](std::int64_t data, std::int64_t context) {
    setup.data_ranks = data;
    setup.context_ranks = context;
    return predict("gpt:layers=4,hidden=1024,heads=16,vocab=32768,positions=4096", recipe(1, 4096), setup, "H100 SXM5 80GB").at_peak.optimizer;
  };
  CHECK(states(1, 4) == states(4, 1));
  CHECK(states(1, 4) < states(1, 1));
}

}  // namespace plimsoll
