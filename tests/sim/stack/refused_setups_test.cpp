#include <catch2/catch.hpp>

#include "formats/models/resolve_model.h"
#include "sim/stack/predict_stack.h"

namespace plimsoll {

TEST_CASE("What the GPU has no kernel for, and updates that leave nothing to add to, are refused") {
  const auto refusal = [](const char* gpu, const StackSetup& setup, std::int64_t accumulate) {
    const Recipe recipe{.precision = Precision::kFp16Mixed, .micro_batch = 1, .accumulate = accumulate, .sequence = 128};
    const auto answer = predict_stack(*resolve_model("gpt2"), recipe, setup, *find_gpu(built_in_gpu_catalogue(), gpu));
    return answer ? std::string() : answer.error().what;
  };
  for (const char* gpu : {"RTX 2060 6GB", "V100 SXM2 32GB"}) CHECK_THAT(refusal(gpu, {.attention = AttentionKernel::kFlash}, 1), Catch::Contains("Ampere"));
  CHECK(refusal("RTX 2060 6GB", {.attention = AttentionKernel::kEfficient}, 1).empty());
  CHECK(refusal("RTX 3060 12GB", {.attention = AttentionKernel::kFlash}, 1).empty());
  StackSetup hooks{.update_in_backward = true};
  CHECK(refusal("RTX 3060 12GB", hooks, 1).empty());
  CHECK_THAT(refusal("RTX 3060 12GB", hooks, 2), Catch::Contains("over 2 micro-batches"));
}

}  // namespace plimsoll
