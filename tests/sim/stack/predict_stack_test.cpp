#include <catch2/catch.hpp>

#include <cstdint>
#include <string>

#include "core/model/parameters.h"
#include "formats/models/model_zoo.h"
#include "formats/models/resolve_model.h"
#include "sim/stack/modules/stack_model.h"
#include "sim/stack/nets/net_zoo.h"
#include "sim/stack/predict_stack.h"

namespace plimsoll {
namespace {

GpuEntry gpu(const char* name) { return *find_gpu(built_in_gpu_catalogue(), name); }

Recipe recipe(std::int64_t batch, std::int64_t sequence, Precision precision) {
  Recipe made;
  made.micro_batch = batch;
  made.sequence = sequence;
  made.precision = precision;
  return made;
}

StackPrediction predict(const std::string& model, const Recipe& made, const StackSetup& setup, const char* board = "A100 80GB SXM") {
  const auto prediction = predict_stack(*resolve_model(model), made, setup, gpu(board));
  REQUIRE(prediction);
  return *prediction;
}

StackSetup nano(AttentionKernel attention, double dropout) {
  return {.modules = ModuleStyle::kNanoGpt, .attention = attention, .dropout = dropout};
}

/// What one more layer adds to the highest requested bytes, beside its 16 bytes a parameter.
double activations_of_a_layer(Precision precision, AttentionKernel attention, double dropout, bool older_softmax = false) {
  StackSetup setup = nano(attention, dropout);
  setup.older_softmax = older_softmax;
  const auto at = [&](int layers) {
    const std::string model = "gpt:layers=" + std::to_string(layers) + ",hidden=256,heads=4,vocab=64,positions=128";
    return predict(model, recipe(8, 128, precision), setup).at_peak.activations.count;
  };
  return static_cast<double>(at(9) - at(5)) / 4;
}

}  // namespace

TEST_CASE("A layer of GPT keeps what the closed formulas say") {
  constexpr double sbh = 128.0 * 8 * 256;
  constexpr double ass = 4.0 * 128 * 128 * 8;
  constexpr double statistics = 4 * 4.0 * 128 * 8;  // two norms, mean and reciprocal root
  // fp32 with dropout: 66·s·b·h + 9·a·s²·b (64 and two masks; softmax 4, dropped 4, mask 1).
  CHECK(activations_of_a_layer(Precision::kFp32, AttentionKernel::kEager, 0.1) == Approx(66 * sbh + 9 * ass + statistics).epsilon(1e-3));
  // Before PyTorch 1.11 the softmax kept its scores too: 4 more.
  CHECK(activations_of_a_layer(Precision::kFp32, AttentionKernel::kEager, 0.1, true) ==
        Approx(66 * sbh + 13 * ass + statistics).epsilon(1e-3));
  // Two bytes, no dropout, fused attention: 32·s·b·h and a sum of exponentials a row and head.
  CHECK(activations_of_a_layer(Precision::kBf16, AttentionKernel::kFlash, 0) ==
        Approx(32 * sbh + 4 * 4.0 * 128 * 8 + statistics).epsilon(5e-3));
}

TEST_CASE("a table of positions has the rows before its first token's, too") {
  const std::string model = "bert:layers=1,hidden=256,heads=4,vocab=512,positions=64";
  const auto parameters = [](const std::string& named) {
    return predict(named, recipe(1, 64, Precision::kFp32), {}).at_peak.parameters.count;
  };
  CHECK(parameters(model + ",position_offset=2") - parameters(model) == 2 * 256 * 4);  // two rows of fp32
}

TEST_CASE("Measured peaks of eager GPTs are met within 5 percent, never passed by more than 1") {
  // mirathfan/llm-training-performance-lab, RTX 3060 Laptop 6 GB, PyTorch 2.11: max_memory_allocated in MiB.
  struct Row {
    const char* model;
    std::int64_t batch, sequence;
    AttentionKernel attention;
    double mib;
  };
  const char* tiny = "gpt:layers=4,hidden=128,heads=4,vocab=65,positions=128";
  const char* small = "gpt:layers=6,hidden=384,heads=6,vocab=65,positions=256";
  const Row rows[] = {{tiny, 32, 128, AttentionKernel::kEager, 249.27}, {tiny, 32, 128, AttentionKernel::kFlash, 177.46},
                      {tiny, 8, 128, AttentionKernel::kEager, 82.92},   {tiny, 16, 128, AttentionKernel::kEager, 137.87},
                      {tiny, 64, 128, AttentionKernel::kEager, 470.21}, {small, 16, 256, AttentionKernel::kEager, 1119.18},
                      {small, 16, 256, AttentionKernel::kFlash, 795.30}};
  for (const Row& row : rows) {
    const auto prediction = predict(row.model, recipe(row.batch, row.sequence, Precision::kFp32), nano(row.attention, 0.1), "RTX 3060 12GB");
    const double predicted = static_cast<double>(prediction.peak.allocated.count) / static_cast<double>(kMiB.count);
    CHECK(predicted / row.mib > 0.95);
    CHECK(predicted / row.mib < 1.01);
  }
}

TEST_CASE("Masked scores and shares that are held add at most themselves to the peak") {
  StackSetup setup = nano(AttentionKernel::kEager, 0.1);
  const auto peak = [&] {
    const std::string model = "gpt:layers=4,hidden=128,heads=4,vocab=65,positions=256";
    return predict(model, recipe(32, 256, Precision::kFp16Mixed), setup, "RTX 3060 6GB Mobile").peak.requested;
  };
  const Bytes released = peak();
  setup.holds_scores = true;
  const Bytes held = peak();
  CHECK(held > released);
  CHECK(held <= released + Bytes(32LL * 4 * 256 * 256 * (2 + 4)));  // 32 sequences, 4 heads, scores in fp16, shares in fp32
}

TEST_CASE("A loop holds the logits of all chunks until their loss is there") {
  const StackSetup setup{.modules = ModuleStyle::kTorchTune, .loss_chunks = 8};
  const auto peak = predict("llama:layers=1,hidden=64,heads=4,ffn=128,vocab=50304", recipe(8, 1024, Precision::kBf16), setup).peak.requested;
  // In two bytes, their log-probabilities in four and an eighth of them in fp32 between the two.
  const double logits = 8.0 * 1024 * 50304;
  CHECK(static_cast<double>(peak.count) == Approx(6.5 * logits).epsilon(0.05));
}

TEST_CASE("A loss of two-byte logits spares what the loss's own copy in fp32 takes") {
  StackSetup setup{};
  const auto activations = [&](Precision precision) { return predict("gpt2", recipe(8, 1024, precision), setup).peak.requested; };
  const double logits = 8.0 * 1024 * 50257;
  const Bytes wide = activations(Precision::kBf16), wide_autocast = activations(Precision::kBf16Mixed);
  setup.half_logits = true;
  const double spared = static_cast<double>((wide - activations(Precision::kBf16)).count);
  CHECK(spared > 4 * logits);
  CHECK(spared < 10 * logits);
  // Autocast takes cross entropies in fp32, whoever calls them.
  CHECK(wide_autocast - activations(Precision::kBf16Mixed) < Bytes(static_cast<std::int64_t>(4.1 * logits)));
}

/// Bytes that one more token adds to the highest requested memory.
double bytes_of_a_token(const std::string& model, Precision precision, const StackSetup& setup) {
  const auto at = [&](std::int64_t batch) { return predict(model, recipe(batch, 256, precision), setup).peak.requested.count; };
  return static_cast<double>(at(16) - at(8)) / (8 * 256);
}

TEST_CASE("A compiled model that returns the loss alone has two sets of logits at the peak, and the peaks of its steps on an H100") {
  StackSetup setup = nano(AttentionKernel::kFlash, 0);
  setup.compile = true;
  setup.loop = OptimizerLoop::kFused;
  const auto peak = [&](const char* model, std::int64_t batch) {
    return predict(model, recipe(batch, 1024, Precision::kBf16Mixed), setup, "H100 SXM5 80GB").peak.allocated.count;
  };
  const char* small = "gpt:layers=12,hidden=768,heads=12,vocab=50257,positions=1024";
  const auto returned = static_cast<double>(peak(small, 8));
  setup.holds_logits = false;
  setup.compile_loss = true;
  constexpr double kLogits = 8.0 * 1024 * 50257 * 2;
  CHECK(returned - static_cast<double>(peak(small, 8)) == Approx(kLogits).epsilon(0.01));
  // scripts/torch_step.py under PyTorch 2.11 (data/measured/h100-sxm5/pytorch.json).
  CHECK(static_cast<double>(peak(small, 8)) == Approx(6262840832.0).epsilon(0.01));
  CHECK(static_cast<double>(peak("gpt:layers=12,hidden=1600,heads=25,vocab=50257,positions=1024", 4)) == Approx(10218194944.0).epsilon(0.01));
}

TEST_CASE("A compiled nanoGPT keeps what PyTorch's partition of its graph keeps, and three sets of logits in two bytes") {
  StackSetup setup = nano(AttentionKernel::kFlash, 0);
  setup.compile = true;
  // What aot_autograd of PyTorch 2.8 and 2.15 hands from the forward to the backward graph, a token: of a layer both norms' inputs in
  // fp32 and results, queries, keys and values, attention's result and sums, the first product, its GELU; then the last norm's.
  const double width = 256, layer = 36 * width + 4 * 4 + 4 * 4, ends = 6 * width + 2 * 4 + 2 * 4;
  // The logits, which are kept and returned, the zeros that autograd makes for their gradient, and that gradient.
  const double logits = 3 * 2 * 50304;
  const double found = bytes_of_a_token("gpt:layers=3,hidden=256,heads=4,vocab=50304,positions=256", Precision::kBf16Mixed, setup);
  CHECK(found == Approx(3 * layer + ends + logits).epsilon(0.01));
}

TEST_CASE("A loop that holds what the model returned has its logits beside all else") {
  StackSetup setup{};
  const std::string llama = "llama:layers=2,hidden=256,heads=4,ffn=512,vocab=32000";
  const double freed = bytes_of_a_token(llama, Precision::kBf16, setup);
  setup.holds_logits = true;
  CHECK(bytes_of_a_token(llama, Precision::kBf16, setup) - freed == Approx(4 * 32000).epsilon(0.001));  // transformers makes them fp32
  setup.half_logits = true;
  const double held = bytes_of_a_token(llama, Precision::kBf16, setup);
  setup.holds_logits = false;
  CHECK(held - bytes_of_a_token(llama, Precision::kBf16, setup) == Approx(2 * 32000).epsilon(0.001));
  setup = nano(AttentionKernel::kFlash, 0);
  const std::string gpt = "gpt:layers=2,hidden=256,heads=4,vocab=50304,positions=256";
  const double by_itself = bytes_of_a_token(gpt, Precision::kBf16, setup);
  setup.holds_logits = false;
  CHECK(by_itself - bytes_of_a_token(gpt, Precision::kBf16, setup) == Approx(2 * 50304).epsilon(0.001));
}

TEST_CASE("Adapters are fp32 under PEFT and of the model's type under torchtune and LitGPT") {
  const ModelSpec spec = *resolve_model("llama-3.2-1b");
  const auto held = [&](ModuleStyle modules, std::int64_t rank, Precision precision) {
    Recipe made = recipe(1, 128, precision);
    made.adapter.rank = rank;
    made.adapter.targets = {AdapterTarget::kDown};
    return predict("llama-3.2-1b", made, {.modules = modules}).at_peak.parameters.count;
  };
  // Of the ends of every block's last layer, 64 ranks more.
  const auto matrices = static_cast<double>(64 * spec.layers * (spec.hidden + spec.ffn));
  const auto bytes_each = [&](ModuleStyle modules, Precision precision) {
    return static_cast<double>(held(modules, 128, precision) - held(modules, 64, precision)) / matrices;
  };
  CHECK(bytes_each(ModuleStyle::kHuggingFace, Precision::kBf16) == Approx(4).epsilon(0.01));
  for (const ModuleStyle modules : {ModuleStyle::kTorchTune, ModuleStyle::kLitGpt}) {
    CHECK(bytes_each(modules, Precision::kBf16) == Approx(2).epsilon(0.01));
  }
}

TEST_CASE("Scales of a 4-bit base that are not quantized once more take four bytes a block of 64") {
  const ModelSpec spec = *resolve_model("gpt2");
  Recipe made = recipe(1, 128, Precision::kBf16);
  made.adapter.rank = 8;
  made.adapter.targets = {AdapterTarget::kDown};
  const auto held = [&](BaseStorage base, bool plain) {
    made.adapter.base = base;
    StackSetup setup{};
    setup.plain_scales = plain;
    return predict("gpt2", made, setup).peak.requested.count;
  };
  const auto encoded = static_cast<double>(12 * spec.layers * spec.hidden * spec.hidden);
  const double once = 4.0 / 64, twice = 1.0 / 64 + 4.0 / (64 * 256);
  CHECK(static_cast<double>(held(BaseStorage::kNf4, true) - held(BaseStorage::kNf4, false)) == Approx((once - twice) * encoded).epsilon(0.01));
  CHECK(held(BaseStorage::kInt8, true) == held(BaseStorage::kInt8, false));
}

// 16 matrices of 512² numbers have 4096 scales, 12 of 512 · 1024 have 8192: of 4 bytes, or of one with 4 for each 256 of them and 4 for their
// mean: 16,384 or 4164 bytes, 32,768 or 8324, the latter in blocks of 512: 4608 and 8704.
TEST_CASE("FSDP shares out a 4-bit base's codes, and every rank has all of its scales") {
  Recipe made = recipe(1, 256, Precision::kBf16);
  made.adapter.rank = 8;
  made.adapter.targets = {AdapterTarget::kQuery};
  made.adapter.base = BaseStorage::kNf4;
  const auto held = [&](bool plain) {
    StackSetup setup{.data_ranks = 2, .zero = 3};
    setup.plain_scales = plain;
    return predict("llama:layers=4,hidden=512,heads=8,ffn=1024,vocab=1000,positions=2048", made, setup).at_peak.parameters.count;
  };
  CHECK(held(true) - held(false) == 16 * (16'384 - 4608) + 12 * (32'768 - 8704));
}

// Three inputs of a block that nothing else keeps: the projection's 512 numbers of a token, 512 of both layers in, 1024 of the layer out.
TEST_CASE("4-bit layers of an older bitsandbytes keep what they read, and 8-bit ones do whatever is said") {
  Recipe made = recipe(1, 1024, Precision::kBf16);
  made.adapter.rank = 8;
  made.adapter.targets = {AdapterTarget::kQuery};
  const auto held = [&](BaseStorage base, bool older) {
    made.adapter.base = base;
    StackSetup setup{.modules = ModuleStyle::kLitGpt};
    setup.older_bitsandbytes = older;
    return predict("llama:layers=4,hidden=512,heads=8,ffn=1024,vocab=1000,positions=2048", made, setup).peak.requested.count;
  };
  const std::int64_t blocks = 4, tokens = 1024, bytes = 2;
  CHECK(held(BaseStorage::kNf4, true) - held(BaseStorage::kNf4, false) == blocks * tokens * bytes * (512 + 512 + 1024));
  CHECK(held(BaseStorage::kInt8, true) == held(BaseStorage::kInt8, false));
}

// Four blocks' A of 8 · 512 and B of 512 · 8 numbers: 32,768, each 2 bytes less, and so each of its two moments.
TEST_CASE("Adapters in the model's own type take half the bytes, and no product in fp32") {
  Recipe made = recipe(1, 256, Precision::kBf16);
  made.adapter.rank = 8;
  made.adapter.targets = {AdapterTarget::kQuery};
  const auto of = [&](bool narrow) {
    StackSetup setup{};
    setup.narrow_adapters = narrow;
    return predict("llama:layers=4,hidden=512,heads=8,ffn=1024,vocab=1000,positions=2048", made, setup);
  };
  const StackPrediction narrow = of(true), wide = of(false);
  const std::int64_t adapters = 4 * (8 * 512 + 512 * 8);
  CHECK(wide.at_peak.parameters.count - narrow.at_peak.parameters.count == 2 * adapters);
  CHECK(wide.at_peak.optimizer.count - narrow.at_peak.optimizer.count == 2 * 2 * adapters);
  CHECK(narrow.time.step < wide.time.step);
  CHECK(narrow.time.hardware_flops == Approx(wide.time.hardware_flops));
}

TEST_CASE("The five memory numbers are in order, and the first step stands apart") {
  const auto prediction = predict("gpt2", recipe(4, 1024, Precision::kBf16Mixed), {});
  CHECK(prediction.peak.requested <= prediction.peak.allocated);
  CHECK(prediction.peak.allocated <= prediction.peak.reserved);
  CHECK(prediction.peak.reserved < prediction.peak.process);
  CHECK(prediction.peak.process <= prediction.peak.device);
  CHECK(prediction.first_step.allocated < prediction.peak.allocated);  // no states of AdamW during its forward and backward
}

TEST_CASE("What fits by less than the guard is not certain") {
  StackSetup setup;
  const auto needed = predict("gpt2", recipe(4, 1024, Precision::kBf16Mixed), setup);
  const Bytes least = needed.usable - needed.margin;
  setup.device_memory = least;
  const auto tight = predict("gpt2", recipe(4, 1024, Precision::kBf16Mixed), setup);
  CHECK(tight.fits);
  CHECK_FALSE(tight.certain);
  setup.device_memory = least - 4 * kMiB;
  CHECK_FALSE(predict("gpt2", recipe(4, 1024, Precision::kBf16Mixed), setup).fits);
  setup.device_memory = Bytes(least.count / 2);
  const auto hopeless = predict("gpt2", recipe(4, 1024, Precision::kBf16Mixed), setup);
  CHECK_FALSE(hopeless.fits);
  CHECK(hopeless.certain);
}

TEST_CASE("Checkpoints cost arithmetic and save memory") {
  StackSetup setup;
  const auto whole = predict("gpt2", recipe(8, 1024, Precision::kBf16Mixed), setup);
  setup.recomputation = Recomputation::kFull;
  const auto checkpointed = predict("gpt2", recipe(8, 1024, Precision::kBf16Mixed), setup);
  CHECK(checkpointed.peak.allocated < whole.peak.allocated);
  CHECK(checkpointed.time.hardware_flops > whole.time.hardware_flops);
  CHECK(checkpointed.time.model_flops == Approx(whole.time.model_flops).epsilon(1e-9));
}

TEST_CASE("A convolutional net keeps what its layers' inputs say") {
  const auto slope = [](const char* model) {
    StackSetup setup{.modules = ModuleStyle::kTorchVision};
    const auto kept = [&](std::int64_t batch) { return predict(model, recipe(batch, 1, Precision::kFp32), setup).at_peak.activations.count; };
    return static_cast<double>(kept(24) - kept(16)) / 8 / static_cast<double>(kMiB.count);
  };
  // ResNet-50: 22.2 M saved numbers an image, 84.7 MiB, and the gradients on their way.
  CHECK(slope("resnet50") > 84.7);
  CHECK(slope("resnet50") < 90);
  // VGG-16: inputs of 13 convolutions that ReLU made (13.6 M), 1.5 M places of pools in 8 bytes, the pools' own outputs.
  CHECK(slope("vgg16") == Approx((13.5 * 4 + 1.5 * 8 + 1.5 * 4) * 1e6 / 1048576).epsilon(0.1));
}

TEST_CASE("A loss in chunks, updates in backward and checkpoints in host memory each need less") {
  StackSetup setup{.modules = ModuleStyle::kTorchTune};
  const auto needs = [&] { return predict("llama-3.2-1b", recipe(2, 1024, Precision::kBf16), setup).peak.requested; };
  const Bytes plain = needs();
  setup.loss_chunks = 8;
  const Bytes chunked = needs();
  CHECK(chunked < plain);
  setup.update_in_backward = true;
  const Bytes updated = needs();
  CHECK(updated <= chunked);  // where the loss is the peak, no gradient is there yet
  setup.recomputation = Recomputation::kFull;
  const Bytes checkpointed = needs();
  CHECK(checkpointed < updated);
  setup.activations = Home::kHost;
  CHECK(needs() < checkpointed);
}

TEST_CASE("Experts compute on the tokens that chose them") {
  // mixtral-8x7b: 46.7 B parameters, 12.88 B of them active; a product's forward and backward are 6 operations a weight and
  // token, but for the embedding's 131 M, which is looked up. Attention adds 2·s·h forward and 5·s·h backward a layer and token: half of all pairs, and products again in backward.
  const auto prediction = predict("mixtral-8x7b", recipe(1, 1024, Precision::kBf16), {});
  const double products = 6 * (12.88e9 - 131e6);
  const double attention = 7 * 1024.0 * 4096 * 32;
  CHECK(prediction.time.model_flops / 1024 == Approx(products + attention).epsilon(0.01));
  CHECK(static_cast<double>(prediction.at_peak.parameters.count) == Approx(2 * 46702792704.0).epsilon(1e-3));
}

TEST_CASE("PyTorch's modules have as many parameters as the model that they are") {
  for (const ZooModel& entry : built_in_zoo()) {
    INFO(entry.name);
    const ModelSpec spec = resolve_model(entry.name).value();
    const Recipe made = recipe(1, 8, Precision::kFp32);
    const StackSetup setup{.modules = ModuleStyle::kHuggingFace};
    const ModuleRules rules = module_rules(spec, made, setup, gpu("A100 80GB SXM"));
    CHECK(model_parameters([&](Tape& tape, DType weights) {
            return make_stack_model(tape, spec, made, setup, rules, weights);
          }) == parameter_count(spec));
  }
}

TEST_CASE("A sequence is not refused more surely than a longer one") {
  StackSetup setup{.attention = AttentionKernel::kFlash};
  setup.recomputation = Recomputation::kFull;
  Recipe made = recipe(1, 12'288, Precision::kBf16Mixed);
  made.adapter = {.rank = 32, .alpha = 64, .targets = adapter_targets(*resolve_model("llama3.1-8b")), .base = BaseStorage::kNf4};
  const auto told = [&](std::int64_t tokens) {
    made.sequence = tokens;
    return *predict_stack(*resolve_model("llama3.1-8b"), made, setup, *find_gpu(built_in_gpu_catalogue(), "A100 40GB SXM4"));
  };
  const StackPrediction longest = told(12'224);
  REQUIRE_FALSE(longest.fits);
  REQUIRE_FALSE(longest.certain);
  for (const std::int64_t tokens : {12'164, 12'172, 12'200}) {
    INFO(tokens);
    CHECK_FALSE(told(tokens).certain);
  }
  CHECK(told(12'172).margin == longest.margin);
}

TEST_CASE("Muon keeps one state of blocks' matrices and two of all else, and SM3 no momentum") {
  const auto states = [](OptimizerKind kind, StackSetup setup) {
    Recipe made = recipe(1, 64, setup.stack == Stack::kPytorch ? Precision::kFp32 : Precision::kBf16Mixed);
    made.optimizer = kind;
    setup.modules = ModuleStyle::kHuggingFace;
    return predict("gpt2", made, setup);
  };
  // Of gpt2's 124439808 elements 12 · 12 · 768² = 84934656 are those of blocks' matrices, 39505152 all others.
  constexpr std::int64_t kMatrices = 84934656, kOthers = 39505152;
  // The allocator rounds each tensor up.
  const auto device = [&](OptimizerKind kind) { return static_cast<double>(states(kind, {}).at_peak.optimizer.count); };
  CHECK(device(OptimizerKind::kMuon) == Approx(4 * kMatrices + 8 * kOthers).epsilon(5e-3));
  CHECK(device(OptimizerKind::kAdamW) == Approx(8 * (kMatrices + kOthers)).epsilon(5e-3));
  // Four bytes a row and column of 4 matrices a block (768 · 3072 twice, 2304 · 768, 768 · 768) and of both tables, and of each
  // element of vectors: 12 (2 · 3840 + 3072 + 1536) + 51025 + 1792, and 12 (2304 + 768 + 3072 + 768 + 4 · 768) + 2 · 768; a
  // momentum would be 498 MB more.
  CHECK(device(OptimizerKind::kSm3) == Approx(4 * (12 * 12288 + 51025 + 1792 + 12 * 9984 + 1536)).epsilon(0.1));
  // DeepSpeed's partition in host memory, of two ranks half each: beside what every optimizer has AdamW keeps eight bytes an
  // element, Muon four, and four more of what is no block's matrix.
  const StackSetup offloaded{.stack = Stack::kDeepspeed, .data_ranks = 2, .zero = 2, .optimizer = Home::kHost};
  const auto host = [&](OptimizerKind kind) { return states(kind, offloaded).host.count; };
  const std::int64_t half = (kMatrices + kOthers) / 2, without = host(OptimizerKind::kSgd);
  CHECK(host(OptimizerKind::kAdamW) - without == 8 * half);
  CHECK(host(OptimizerKind::kMuon) - without == 4 * half + 4 * kOthers / 2);
}

}  // namespace plimsoll
