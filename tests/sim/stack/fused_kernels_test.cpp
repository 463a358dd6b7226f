#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "formats/models/resolve_model.h"
#include "sim/stack/modules/unsloth_layers.h"
#include "sim/stack/operators/fused_linear_loss.h"
#include "sim/stack/operators/fused_operations.h"
#include "sim/stack/predict_stack.h"
#include "sim/stack/tape/operations.h"

namespace plimsoll {
namespace {

constexpr TapeOptions kBare{.product_workspace = Bytes(0), .bias_workspace = Bytes(0)};

/// Of activations: what lives at the end, and the most that lived at once.
struct Held {
  std::int64_t now = 0;
  std::int64_t most = 0;
};

Held held(const Tape& tape) {
  Held sum;
  for (const StorageEvent& event : tape.log().events()) {
    if (event.holding != Holding::kActivations) continue;
    if (event.change == StorageChange::kBorn) sum.now += event.bytes.count;
    if (event.change == StorageChange::kDied) sum.now -= event.bytes.count;
    sum.most = std::max(sum.most, sum.now);
  }
  return sum;
}

Tensor asking(Tape& tape, Shape shape, DType type) {
  Tensor x = tape.empty(std::move(shape), type);
  x.maker = std::make_shared<Node>();
  return x;
}

/// While the loss is there: a head of 1,000 words over 64 numbers, and 256 rows: 16 parts, chunks of 16 rows.
Held loss_of(bool trained, bool adds_products, DType weights = DType::kBf16, std::optional<DType> autocast = {}) {
  Tape tape(kBare);
  Parameter& head = tape.parameter("head", {1000, 64}, weights, trained);
  Held kept;
  tape.with_autocast(autocast, [&] {
    Tensor x = asking(tape, {256, 64}, weights);
    const Tensor loss = fused_linear_cross_entropy(tape, x, head, adds_products);
    x = {};
    kept = held(tape);
  });
  return kept;
}

StackPrediction predict(const std::string& model, const StackSetup& setup, Precision precision = Precision::kBf16, std::int64_t rank = 0) {
  Recipe recipe;
  recipe.micro_batch = 2;
  recipe.sequence = 2048;
  recipe.precision = precision;
  const ModelSpec spec = *resolve_model(model);
  if (rank > 0) recipe.adapter = {.rank = rank, .alpha = 32, .targets = adapter_targets(spec)};
  const auto made = predict_stack(spec, recipe, setup, *find_gpu(built_in_gpu_catalogue(), "A100 80GB SXM"));
  REQUIRE(made);
  return *made;
}

std::string refusal(const std::string& model, const StackSetup& setup) {
  const auto made = predict_stack(*resolve_model(model), Recipe{}, setup, *find_gpu(built_in_gpu_catalogue(), "A100 80GB SXM"));
  REQUIRE_FALSE(made);
  return made.error().what;
}

}  // namespace

TEST_CASE("A chunk's logits take no more than the hidden states of all rows, rounded up to a power of two") {
  CHECK(loss_chunk_rows(4 * 4096, 32000, 4096) == 2048);  // 8 parts
  CHECK(loss_chunk_rows(8192, 128256, 4096) == 256);      // 32 parts
  CHECK(loss_chunk_rows(3000, 32000, 1024) == 128);       // 32 parts of 93.75 rows
}

TEST_CASE("A fused loss keeps its gradients and nothing else") {
  constexpr std::int64_t kInput = 2 * 256 * 64, kHead = 2 * 1000 * 64;
  CHECK(loss_of(true, true).now == kInput + kHead + 4);
  CHECK(loss_of(false, true).now == kInput + 4);
}

TEST_CASE("A fused loss holds one chunk's logits at once, and products that are not added in place beside the head's gradient") {
  constexpr std::int64_t kRows = 2 * 256 * 64 + 4 * 256, kLogits = 2 * 16 * 1000, kHead = 1000 * 64;
  const std::int64_t frozen = 2 * 256 * 64 + kRows + kLogits;  // the rows and their gradient, losses, logits
  CHECK(loss_of(false, true).most == frozen);
  CHECK(loss_of(true, true).most == frozen + 2 * kHead);
  CHECK(loss_of(true, false).most == frozen + 2 * kHead + (2 + 4) * kHead);
}

TEST_CASE("Under autocast a head's cast stays for the region and the one for logits goes with its product") {
  constexpr std::int64_t kHead = 1000 * 64, kLogits = 2 * 16 * 1000;
  // Rows and their gradient in fp32, losses; the head's gradient, its two casts; logits and the rows' cast.
  const std::int64_t most = 2 * (4 * 256 * 64) + 4 * 256 + (4 + 2 + 2) * kHead + kLogits + 2 * 16 * 64;
  CHECK(loss_of(true, true, DType::kFp32, DType::kBf16).most == most);
  CHECK(loss_of(true, true, DType::kFp32, DType::kBf16).now == 4 * 256 * 64 + (4 + 2) * kHead + 4);
}

TEST_CASE("A norm in one kernel keeps a root a row, and in place its input's gradient takes no memory") {
  for (const bool in_place : {true, false}) {
    Tape tape(kBare);
    Parameter& weight = tape.parameter("w", {64}, DType::kBf16, false);
    const Tensor x = asking(tape, {256, 64}, DType::kBf16);
    const Tensor y = kernel_rms_norm(tape, x, weight, {.multiprocessors = 108, .in_place = in_place});
    CHECK(held(tape).now == 2 * x.bytes().count + 4 * 256);
    const std::int64_t before = held(tape).now;
    tape.backward(y, tape.empty(y.shape, y.dtype));
    CHECK(held(tape).most == before + (in_place ? 1 : 2) * y.bytes().count);
  }
}

TEST_CASE("Rotated heads and gated products leave one copy where PyTorch's operations leave several") {
  Tape tape(kBare);
  const Tensor heads = transpose(tape, asking(tape, {1, 128, 4, 16}, DType::kBf16), 1, 2);
  const std::int64_t before = held(tape).now;
  const Tensor turned = rotated_in_place(tape, heads);
  CHECK(held(tape).most == before);
  CHECK(turned.storage == heads.storage);
  const Tensor gate = asking(tape, {128, 64}, DType::kBf16), up = asking(tape, {128, 64}, DType::kBf16);
  const Tensor product = fused_gated_product(tape, gate, up);
  CHECK(held(tape).now == before + 3 * product.bytes().count);
}

// Where the head is trained and narrow, its gradient is read and written once a chunk of few rows, which can take longer.
TEST_CASE("Liger's kernels need less memory than the modules that they replace, and less time beside a frozen head") {
  for (const char* model : {"llama-3.2-1b", "qwen2.5-0.5b", "qwen3-0.6b", "gemma-2b", "phi3-mini", "gemma2-2b"}) {
    for (const std::int64_t rank : {std::int64_t{0}, std::int64_t{16}}) {
      INFO(model << " rank " << rank);
      const StackPrediction plain = predict(model, {}, Precision::kBf16, rank);
      const StackPrediction fused = predict(model, {.liger = true}, Precision::kBf16, rank);
      CHECK(fused.peak.requested < plain.peak.requested);
      if (rank > 0) CHECK(fused.time.step < plain.time.step);
    }
  }
}

TEST_CASE("An answer with Liger's kernels says that their times were not measured") {
  const auto assumptions = predict("llama-3.2-1b", {.liger = true}).assumptions;
  const auto said = [](const std::string& text) { return text.find("Liger") != std::string::npos && text.find("none was measured") != std::string::npos; };
  CHECK(std::any_of(assumptions.begin(), assumptions.end(), said));
}

TEST_CASE("Liger's kernels are refused by name where it has none or they are not modelled") {
  using Catch::Contains;
  CHECK_THAT(refusal("gpt2", {.liger = true}), Contains("no kernels for the family of gpt2"));
  CHECK_THAT(refusal("pythia-1b", {.liger = true}), Contains("no kernels"));
  CHECK_THAT(refusal("deepseek-v3", {.liger = true}), Contains("not modelled"));
  CHECK_THAT(refusal("llama-3.2-1b", {.modules = ModuleStyle::kTorchTune, .liger = true}), Contains("torchtune modules"));
  CHECK_THAT(refusal("llama-3.2-1b", {.stack = Stack::kColossalai, .liger = true}), Contains("colossalai"));
  CHECK_THAT(refusal("llama-3.2-1b", {.compile = true, .liger = true}), Contains("compiled modules"));
  CHECK_THAT(refusal("llama-3.2-1b", {.liger = true, .loss_chunks = 4}), Contains("chunks of the loss"));
}

namespace {

/// 256 rows of 64 numbers through layers of 64 → 96 with adapters of rank 4 beside frozen weights.
struct AdaptedLayers {
  explicit AdaptedLayers(Tape& tape) {
    const DenseMaker make{.tape = tape, .adapter = adapter, .dtype = DType::kBf16, .compute = DType::kBf16};
    gated.in = {make.make("gate", 64, 96, false, AdapterTarget::kGate), make.make("up", 64, 96, false, AdapterTarget::kUp)};
    gated.out = make.make("down", 96, 64, false, AdapterTarget::kDown);
  }
  AdapterSpec adapter{.rank = 4, .alpha = 8, .targets = {AdapterTarget::kGate, AdapterTarget::kUp, AdapterTarget::kDown}};
  FeedForwardWeights gated;
};

constexpr std::int64_t kStream = 2 * 256 * 64, kWide = 2 * 256 * 96, kLow = 2 * 256 * 4;

}  // namespace

TEST_CASE("Layers with adapters in one function keep what they read, and write its gradient there") {
  for (const bool overwrites : {true, false}) {
    Tape tape(kBare);
    const AdaptedLayers layers(tape);
    Tensor x = asking(tape, {256, 64}, DType::kBf16);
    Tensors outs = adapted_products(tape, x, {&layers.gated.in[0], &layers.gated.in[1]}, overwrites);
    x = {};
    CHECK(held(tape).now == kStream + 2 * kWide);
    Tensors gradients{tape.empty(outs[0].shape, DType::kBf16), tape.empty(outs[1].shape, DType::kBf16)};
    const std::int64_t before = held(tape).now;
    tape.backward_to(outs, std::move(gradients), {});
    const std::int64_t matrices = 2 * 2 * (4 * 64 + 96 * 4);
    const std::int64_t dx = overwrites ? 0 : kStream;
    // The adapters' gradients, in the products' type, and one product of their rank at a time.
    CHECK(held(tape).most == before + matrices + std::max(dx + kLow, 2 * kLow));
  }
}

TEST_CASE("A gated layer with adapters needs one more tensor of its width in backward") {
  Tape tape(kBare);
  const AdaptedLayers layers(tape);
  const Tensor x = asking(tape, {256, 64}, DType::kBf16);
  const Tensor y = adapted_feed_forward(tape, x, layers.gated);
  CHECK(held(tape).now == 2 * kStream + 2 * kWide);
  const std::int64_t before = held(tape).now + kStream;
  tape.backward(y, tape.empty(y.shape, y.dtype));
  CHECK(held(tape).most >= before + kWide);
  CHECK(held(tape).most <= before + kWide + 2 * kLow + 2 * 3 * (4 * 64 + 96 * 4));
}

TEST_CASE("Chunks whose logits are made twice are an eighth of the rows, and no more than 2 GiB at 8 bytes a logit") {
  CHECK(recomputed_chunk_rows(8192, 128256) == 1024);
  CHECK(recomputed_chunk_rows(1000, 128256) == 512);
  CHECK(recomputed_chunk_rows(1 << 20, 128256) == 2092);
  Tape tape(kBare);
  Parameter& head = tape.parameter("head", {1000, 64}, DType::kBf16, false);
  const Tensor x = asking(tape, {4096, 64}, DType::kBf16);
  const Tensor loss = recomputed_linear_cross_entropy(tape, x, head);
  const std::int64_t kept = x.bytes().count + 2 * 4 * 4096 + 4;
  CHECK(held(tape).now == kept);
  CHECK(held(tape).most == kept - 4 + 2 * 512 * 1000);
  tape.backward(loss, tape.empty({1}, DType::kFp32));
  CHECK(held(tape).most == kept + 4 + x.bytes().count + 2 * 2 * 512 * 1000);
}

namespace {

StackPrediction qlora(ModuleStyle modules, Home activations, std::int64_t sequence) {
  Recipe recipe;
  recipe.sequence = sequence;
  recipe.precision = Precision::kBf16Mixed;
  const ModelSpec spec = *resolve_model("llama3.1-8b");
  recipe.adapter = {.rank = 32, .alpha = 64, .targets = adapter_targets(spec)};
  recipe.adapter.base = BaseStorage::kNf4;
  const auto made = predict_stack(spec, recipe, {.modules = modules, .recomputation = Recomputation::kFull, .activations = activations},
                                  *find_gpu(built_in_gpu_catalogue(), "A100 80GB SXM"));
  REQUIRE(made);
  return *made;
}

}  // namespace

TEST_CASE("Unsloth's blocks wait in host memory but for the last, and need a fraction of what PEFT's do") {
  constexpr std::int64_t kTokens = 16384;
  const StackPrediction own = qlora(ModuleStyle::kUnsloth, Home::kHost, kTokens);
  const StackPrediction on_device = qlora(ModuleStyle::kUnsloth, Home::kDevice, kTokens);
  const StackPrediction plain = qlora(ModuleStyle::kHuggingFace, Home::kDevice, kTokens);
  const Bytes waiting(31 * kTokens * 4096 * 2);
  CHECK(own.host - on_device.host == waiting);
  CHECK(on_device.peak.requested > own.peak.requested + Bytes(waiting.count * 9 / 10));
  CHECK(plain.peak.requested > 2 * own.peak.requested);
}

TEST_CASE("Unsloth's modules are refused by name where they are not modelled") {
  using Catch::Contains;
  CHECK_THAT(refusal("llama-3.2-1b", {.modules = ModuleStyle::kUnsloth}), Contains("adapters alone"));
  CHECK_THAT(refusal("gpt2", {.modules = ModuleStyle::kUnsloth}), Contains("gpt2"));
  CHECK_THAT(refusal("mixtral-8x7b", {.modules = ModuleStyle::kUnsloth}), Contains("dense"));
  CHECK_THAT(refusal("llama-3.2-1b", {.stack = Stack::kDeepspeed, .modules = ModuleStyle::kUnsloth}), Contains("under pytorch"));
  CHECK_THAT(refusal("llama-3.2-1b", {.modules = ModuleStyle::kUnsloth, .liger = true}), Contains("adapters alone"));
}

}  // namespace plimsoll
