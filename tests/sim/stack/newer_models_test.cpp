#include <catch2/catch.hpp>
#include <string>

#include "formats/models/resolve_model.h"
#include "sim/stack/predict_stack.h"
#include "sim/stack/stack_run.h"
#include "sim/stack/training_steps.h"

// What a block of newer families keeps for backward, against PyTorch 2.15 with transformers 5.23.0: bytes of all
// storages that autograd saves (torch.autograd.graph.saved_tensors_hooks), weights not counted, of models of four
// blocks less those of two, halved. Two sequences of 64 tokens, bf16 weights, eager attention; the sizes are those of
// the shapes below.
namespace plimsoll {
namespace {

double kept_by_a_block(const std::string& family, const std::string& shape,
                       std::optional<AttentionKernel> attention = AttentionKernel::kEager, std::optional<bool> grouped = {},
                       ModuleStyle modules = ModuleStyle::kHuggingFace) {
  const StackSetup setup{.modules = modules, .attention = attention, .dropout = 0, .grouped_experts = grouped};
  const Recipe recipe{.precision = Precision::kBf16, .micro_batch = 2, .sequence = 64};
  const auto at = [&](int layers) {
    // One block of experts is in both depths.
    const std::string dense = family == "deepseek" ? ",dense_first=" + std::to_string(layers - 1) : "";
    const std::string model =
        family + ":layers=" + std::to_string(layers) + ",hidden=64,heads=4,vocab=1000,positions=128," + shape;
    const auto spec = resolve_model(model + dense);
    REQUIRE(spec);
    const auto prediction = predict_stack(*spec, recipe, setup, *find_gpu(built_in_gpu_catalogue(), "A100 80GB SXM"));
    REQUIRE(prediction);
    return prediction->at_peak.activations.count;
  };
  return static_cast<double>(at(4) - at(2)) / 2;
}

}  // namespace

TEST_CASE("experts in grouped products keep what they keep one by one, and those that multiply by scores first their rows in fp32") {
  const std::string shape = "ffn=64,experts=8,top-k=2";
  const auto kept = [&](bool grouped, ModuleStyle modules) { return kept_by_a_block("olmoe", shape, AttentionKernel::kEager, grouped, modules); };
  // A token's rows, what stands before the activation and behind it, up, their product, what comes out, and shares: none is made
  // twice, but eight small tensors are one.
  CHECK(kept(true, ModuleStyle::kHuggingFace) == Approx(kept(false, ModuleStyle::kHuggingFace)).epsilon(0.03));
  // 256 rows of 64 in 4 bytes more, and what comes out, in 2, less.
  CHECK(kept(true, ModuleStyle::kTorchTune) - kept(false, ModuleStyle::kTorchTune) == Approx(2 * 256 * 64).margin(0.03 * kept(false, ModuleStyle::kTorchTune)));
}

TEST_CASE("grouped experts multiply in three kernels forward and six backward") {
  const auto spec = resolve_model("olmoe:layers=1,hidden=64,heads=4,vocab=1000,positions=128,ffn=64,experts=8,top-k=2");
  REQUIRE(spec);
  const Recipe recipe{.precision = Precision::kBf16, .micro_batch = 2, .sequence = 64};
  const StackSetup setup{.modules = ModuleStyle::kTorchTune, .attention = AttentionKernel::kFlash, .dropout = 0};
  Tape tape;
  run_training_steps(tape, *spec, recipe, setup, module_rules(*spec, recipe, setup, *find_gpu(built_in_gpu_catalogue(), "A100 80GB SXM")));
  int grouped = 0;
  for (const StackKernel& kernel : tape.kernels()) {
    const bool product = kernel.sort == StackKernelSort::kProduct || kernel.turned;
    if (product && kernel.batch == 8) ++grouped;
  }
  CHECK(grouped == 9);
}

TEST_CASE("a block of newer families keeps for backward what autograd saves") {
  CHECK(kept_by_a_block("gemma2", "kv_heads=2,ffn=256,window=128") == Approx(887808).epsilon(0.01));
  CHECK(kept_by_a_block("gemma", "kv_heads=1,head_dim=16,ffn=256") == Approx(689664).epsilon(0.005));
  CHECK(kept_by_a_block("olmo", "ffn=256") == Approx(624640).epsilon(0.005));
  CHECK(kept_by_a_block("olmo2", "ffn=256") == Approx(821248).epsilon(0.01));
  CHECK(kept_by_a_block("cohere", "ffn=256") == Approx(639744).epsilon(0.005));
  CHECK(kept_by_a_block("gpt_oss", "kv_heads=2,ffn=64,experts=8,top-k=2") == Approx(607264).epsilon(0.015));
  // Of a mixture the places of chosen rows are counted once more than autograd saves them: 1.1 %.
  CHECK(kept_by_a_block("olmoe", "ffn=64,experts=8,top-k=2") == Approx(703008).epsilon(0.015));
  CHECK(kept_by_a_block("qwen2_moe", "ffn=256,experts=8,top-k=2,expert_ffn=64,shared_ffn=128,qkv_bias=true") ==
        Approx(751392).epsilon(0.015));
  // Llama 4's experts, without and with its norms of queries and keys, which have no weights: of 128 rows of 96 numbers
  // in fp32 and of a root a head 49152 + 3072 bytes more.
  const std::string llama4 = "kv_heads=2,ffn=64,experts=4,top-k=1,shared_ffn=64";
  CHECK(kept_by_a_block("llama4", llama4) == Approx(726016).epsilon(0.02));
  CHECK(kept_by_a_block("llama4", llama4 + ",qk_norm=true") - kept_by_a_block("llama4", llama4) == 778240 - 726016);
  // Dense blocks of DeepSeek 3.
  CHECK(kept_by_a_block("deepseek",
                        "ffn=256,q_rank=48,kv_rank=32,plain_dim=16,rope_dim=8,value_dim=16,experts=2,top-k=1") ==
        Approx(755712).epsilon(0.02));
}

TEST_CASE("beyond a window each block keeps a sum to its scores, and keys and values of every head, unless flash attention is asked for") {
  // Saved by Mistral's blocks with four and with two key heads, on the CPU: 461,824 and 445,440 bytes of windows of 128 tokens, and
  // 478,208 of windows of 32: 2 · 64 · 64 sums of two bytes are 16,384, and so are the heads that are there once more.
  const std::optional<AttentionKernel> nobodys, flash = AttentionKernel::kFlash, efficient = AttentionKernel::kEfficient;
  for (const auto& attention : {nobodys, efficient}) {
    const double within = kept_by_a_block("mistral", "kv_heads=4,ffn=256,window=128", attention);
    CHECK(kept_by_a_block("mistral", "kv_heads=4,ffn=256,window=32", attention) - within == 478208 - 461824);
  }
  CHECK(kept_by_a_block("mistral", "kv_heads=2,ffn=256,window=32", nobodys) - kept_by_a_block("mistral", "kv_heads=2,ffn=256,window=128", nobodys) ==
        478208 - 445440);
  CHECK(kept_by_a_block("mistral", "kv_heads=4,ffn=256,window=32") == Approx(656384).epsilon(0.01));  // eager code, which has a mask anyway
  CHECK(kept_by_a_block("mistral", "kv_heads=2,ffn=256,window=32", flash) == kept_by_a_block("mistral", "kv_heads=2,ffn=256,window=128", flash));
}

TEST_CASE("beyond a window attention under a mask computes all scores, flash attention those of the window") {
  // Of 4,096 tokens and a window of 1,024: 4,096² pairs, 4,096² / 2 where causal kernels see all, 1,024 · (4,096 - 512).
  const auto pairs = [](std::int64_t window, std::optional<AttentionKernel> attention) {
    const StackSetup setup{.modules = ModuleStyle::kHuggingFace, .attention = attention, .dropout = 0};
    const auto spec = resolve_model("mistral:layers=1,hidden=64,heads=4,kv_heads=4,vocab=1000,positions=4096,ffn=256,window=" + std::to_string(window));
    const auto run = run_stack(*spec, {.precision = Precision::kBf16, .sequence = 4096}, setup, *find_gpu(built_in_gpu_catalogue(), "A100 80GB SXM"));
    double flops = 0;
    for (const StackKernel& kernel : run->kernels) {
      if (kernel.sort == StackKernelSort::kAttention && !kernel.backward) flops = kernel.flops;
    }
    return flops / (4.0 * 4 * 16);
  };
  CHECK(pairs(4096, {}) == 4096.0 * 4096 / 2);
  CHECK(pairs(1024, {}) == 4096.0 * 4096);
  CHECK(pairs(1024, AttentionKernel::kFlash) == 1024.0 * (4096 - 512));
}

TEST_CASE("norms of Gemma 1 multiply by one plus their weight in fp32 and keep what they multiply") {
  // Its gelu and Llama's silu keep as much. Of each of two norms the 128 normalized rows of 64 are kept in four bytes, not in
  // two, and the 64 factors in four bytes, a block of 512, where Llama reads the weights: 2 (128 · 64 · 2 + 512) = 33792.
  const std::string shape = "kv_heads=2,ffn=256";
  CHECK(kept_by_a_block("gemma", shape) - kept_by_a_block("llama", shape) == 33792);
}

TEST_CASE("fused attention is refused where a model caps scores or has sinks") {
  const StackSetup setup{.modules = ModuleStyle::kHuggingFace, .attention = AttentionKernel::kFlash};
  for (const char* model : {"gemma-2-2b", "gpt-oss-20b"}) {
    const auto prediction = predict_stack(*resolve_model(model), {.sequence = 64}, setup,
                                          *find_gpu(built_in_gpu_catalogue(), "A100 80GB SXM"));
    REQUIRE_FALSE(prediction);
    CHECK_THAT(prediction.error().text(), Catch::Contains("eager"));
  }
}

}  // namespace plimsoll
