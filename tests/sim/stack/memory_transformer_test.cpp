#include <catch2/catch.hpp>

#include <algorithm>
#include <string>

#include "formats/models/resolve_model.h"
#include "sim/stack/predict_stack.h"

namespace plimsoll {
namespace {

const std::string kSmall = "transformer-xl:layers=4,hidden=128,heads=4,ffn=512,memory=64,";

GpuEntry counted_gpu() {
  GpuEntry gpu = *find_gpu(built_in_gpu_catalogue(), "A100 80GB SXM");
  gpu.multiprocessors = 0;  // the tracker sees tensors, not the buffers that sums over rows take on a GPU
  return gpu;
}

/// MiB of the third step's peak without cuBLAS's workspaces: eight sequences of 64 tokens in fp32.
double peak(const std::string& shape) {
  const StackSetup setup{.attention = AttentionKernel::kEager};
  Recipe recipe = with_optimizer({.precision = Precision::kFp32, .micro_batch = 8, .sequence = 64}, OptimizerKind::kSgd);
  recipe.clip = recipe.weight_decay = 0;
  const auto prediction = predict_stack(*resolve_model(shape), recipe, setup, counted_gpu());
  REQUIRE(prediction);
  constexpr double kWorkspaces = 16.25;
  return static_cast<double>(prediction->peak.requested.count) / static_cast<double>(kMiB.count) - kWorkspaces;
}

std::string refusal(const StackSetup& setup) {
  const auto spec = resolve_model(kSmall + "vocab=1000");
  const auto prediction = predict_stack(*spec, {.micro_batch = 2, .sequence = 64}, setup, *find_gpu(built_in_gpu_catalogue(), "A100 80GB SXM"));
  return prediction ? "" : prediction.error().what;
}

}  // namespace

// The peaks are the sums of PyTorch 2.2's allocations and releases (torch.profiler's memory events) in the third step of a model that
// computes what NVIDIA's mem_transformer.py and proj_adaptive_softmax.py do, dropout as CUDA's kernel has it, the scripted sum of the
// scores as one kernel, words shared out over the clusters as word_clusters says.
TEST_CASE("Transformer-XL's peaks are those of PyTorch's allocations") {
  CHECK(peak(kSmall + "vocab=8000") == Approx(81.307).epsilon(0.001));
  CHECK(peak(kSmall + "vocab=24000,cutoffs=2000-6000-18000") == Approx(74.649).epsilon(0.001));
  CHECK(peak(kSmall + "vocab=24000,cutoffs=2000-6000-18000,divisor=4") == Approx(51.148).epsilon(0.006));
  CHECK(peak("transformer-xl:layers=12,hidden=256,heads=4,ffn=1024,memory=64,vocab=500") == Approx(201.574).epsilon(0.003));
}

TEST_CASE("every micro-batch of a step has a memory of its own, which stays until it comes again") {
  const auto spec = resolve_model(kSmall + "vocab=1000");
  const auto held = [&](std::int64_t accumulate) {
    Recipe recipe{.precision = Precision::kFp32, .micro_batch = 8, .accumulate = accumulate, .sequence = 64};
    const auto prediction = predict_stack(*spec, recipe, {}, counted_gpu());
    REQUIRE(prediction);
    return prediction->at_peak.activations.count;
  };
  // Four blocks of 64 · 8 rows of 128 numbers in four bytes.
  CHECK(held(3) - held(2) == 4 * 64 * 8 * 128 * 4);
}

TEST_CASE("how many tokens are of the frequent words is told as an assumption") {
  const auto spec = resolve_model(kSmall + "vocab=24000,cutoffs=2000-6000-18000");
  const auto prediction = predict_stack(*spec, {.micro_batch = 2, .sequence = 64}, {}, counted_gpu());
  REQUIRE(prediction);
  const auto& told = prediction->assumptions;
  CHECK(std::any_of(told.begin(), told.end(), [](const std::string& text) { return text.find("2000 most frequent words") != std::string::npos; }));
}

TEST_CASE("what NVIDIA's training of Transformer-XL has not is refused by name") {
  CHECK(refusal({}).empty());
  CHECK_THAT(refusal({.recomputation = Recomputation::kFull}), Catch::Contains("no checkpoints are modelled"));
  CHECK_THAT(refusal({.compile = true}), Catch::Contains("no compiled kernels are modelled"));
  CHECK_THAT(refusal({.loss_chunks = 4}), Catch::Contains("no chunks of the loss are modelled"));
  CHECK_THAT(refusal({.attention = AttentionKernel::kFlash}), Catch::Contains("has scores of distances"));
  CHECK_THAT(refusal({.stack = Stack::kMegatron}), Catch::Contains("has positions by distance and a memory of the segment before"));
}

}  // namespace plimsoll
