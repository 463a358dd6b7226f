#include <catch2/catch.hpp>

#include "formats/machines/catalogue_platform.h"
#include "formats/models/resolve_model.h"
#include "sim/cost/catalogue_cost_model.h"
#include "sim/inference/inference_answer.h"
#include "sim/inference/inference_costs.h"

using namespace plimsoll;

namespace {

Platform machine() {
  const MachineOptions options{.ram = Bytes(208'000'000'000),
                               .ssd = Bytes(1'500'000'000'000),
                               .ssd_read_gbs = 2.0,
                               .ssd_write_gbs = 1.0,
                               .cpu_cores = 16,
                               .dram_gbs = 73.0};
  return with_cpu_rate(gpu_platform(*find_gpu(built_in_gpu_catalogue(), "T4"), options)->platform);
}

InferenceTask task_of(const char* model, std::int64_t sequences) {
  return {.spec = *resolve_model(model), .sequences = sequences};
}

InferenceTime time_of(const InferenceTask& task, const OffloadPolicy& policy) {
  const Platform platform = machine();
  const CatalogueCostModel catalogue;
  return *predict_inference(task, policy, platform, InferenceCosts(catalogue, platform));
}

}  // namespace

TEST_CASE("the parts of a policy's bytes add up to the weights and the cache, wherever they lie") {
  const InferenceTask task = task_of("opt-1.3b", 8);
  OffloadPolicy policy{.gpu_batch = 4, .batches = 2, .weights = {0.3, 0.25}, .cache = {0.1, 0.6}, .activations = {1, 0}};
  const InferenceMemory memory = inference_memory(task, policy);
  Bytes weights, cache;
  for (const InferenceBytes& space : memory.spaces) {
    weights += space.weights;
    cache += space.cache;
  }
  CHECK(weights == store_weights(task.spec, DType::kFp16, {}).total());
  CHECK(weights == Bytes(2 * 1315758080LL));
  CHECK(cache == Bytes(8 * 543 * 2 * 24 * 2048 * 2));  // 512 + 32 − 1 tokens: the last one's are never read
}

TEST_CASE("more rounds than are simulated are refused at once, with what to change") {
  // 24 blocks: 100,000 / 24 = 4166 batches and a part of one.
  const auto checked = [](std::int64_t sequences, std::int64_t gpu_batch) {
    return validate(task_of("opt-1.3b", sequences), {.gpu_batch = gpu_batch, .batches = sequences / gpu_batch});
  };
  CHECK(checked(4166, 1));
  const auto refused = checked(1'000'000, 1);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what.find("1000000 batches of 1 through 24 blocks") != std::string::npos);
  CHECK(refused.error().remedy.find("--gpu-batch") != std::string::npos);
  CHECK_FALSE(checked(4167, 1));
  CHECK(checked(1'000'000, 250));
}

TEST_CASE("more of the weights on the device is never slower") {
  const InferenceTask task = task_of("opt-6.7b", 8);
  double slower = 1e9;
  for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    const OffloadPolicy policy{.gpu_batch = 8, .weights = {share, 1 - share}};
    const double seconds = time_of(task, policy).seconds();
    CHECK(seconds <= slower);
    slower = seconds;
  }
}

TEST_CASE("a step takes at least the time in which its bytes cross the memory or link that they come from") {
  const InferenceTask task = task_of("opt-6.7b", 2);
  const auto weights = static_cast<double>(store_weights(task.spec, DType::kFp16, {}).total().count);
  // The table of token embeddings is looked up and read by the head; that of 2050 positions is looked up alone.
  const double positions = 2050.0 * 4096 * 2;
  CHECK(time_of(task, {.gpu_batch = 2}).first_token_step >= (weights - positions) / 320e9);
  CHECK(time_of(task, {.gpu_batch = 2, .weights = {0, 1}}).first_token_step >= weights / 12.3e9);
  CHECK(time_of(task, {.gpu_batch = 2, .weights = {0, 0}}).first_token_step >= weights / 2e9);
}

TEST_CASE("no simulated time is below the policy's bound, and overlap is never slower than none") {
  const InferenceTask task = task_of("opt-1.3b", 12);
  for (const TierShares& weights : {TierShares{1, 0}, TierShares{0.5, 0.5}, TierShares{0, 0.4}}) {
    for (const TierShares& cache : {TierShares{1, 0}, TierShares{0, 1}, TierShares{0.25, 0.25}}) {
      for (const bool attends : {false, true}) {
        OffloadPolicy policy{
            .gpu_batch = 4, .batches = 3, .weights = weights, .cache = cache, .activations = {0, 1}, .cpu_attention = attends};
        const double overlapped = time_of(task, policy).seconds();
        CHECK(overlapped >= *inference_bound(task, policy, machine()));
        policy.overlap = false;
        CHECK(time_of(task, policy).seconds() >= overlapped);
      }
    }
  }
}

TEST_CASE("a search answers with what fits, is no slower than any policy it weighed, and says what others give") {
  const Platform platform = machine();
  const CatalogueCostModel costs;
  const InferenceTask task = task_of("opt-30b", 16);
  const auto answer = answer_inference(task, {}, platform, costs);
  REQUIRE(answer);
  CHECK(answer->fits);
  for (const InferenceSpace& space : answer->memory) CHECK(space.margin() >= Bytes(0));
  CHECK(answer->policy.weights.gpu < 1);  // 60 GB do not fit into 16
  OffloadPolicy streamed{.gpu_batch = 16, .weights = {0, 1}, .cache = {0, 1}};
  CHECK(answer->time.seconds() <= time_of(task, streamed).seconds());
  for (const InferenceAlternative& other : answer->alternatives)
    CHECK(other.tokens_per_second <= 1.01 * answer->tokens_per_second());
}

TEST_CASE(
    "what fits nowhere is answered with the least that is missing, and a policy with a drive that is not there is refused") {
  const Platform platform = with_cpu_rate(gpu_platform(*find_gpu(built_in_gpu_catalogue(), "T4"), {.ram = 16 * kGiB})->platform);
  const CatalogueCostModel costs;
  const auto answer = answer_inference(task_of("opt-175b", 4), {}, platform, costs);
  REQUIRE(answer);
  CHECK_FALSE(answer->fits);
  for (const InferenceSpace& space : answer->memory) {
    if (space.space == "gpu0") CHECK(space.margin() >= Bytes(0));  // what is on the device fits there
    if (space.space == "host") CHECK(space.margin() < Bytes(0));
  }
  PolicyWishes wishes;
  wishes.exact = OffloadPolicy{.gpu_batch = 4, .weights = {0, 0.5}};
  const auto refused = answer_inference(task_of("opt-1.3b", 4), wishes, platform, costs);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().remedy.find("--ssd") != std::string::npos);
}

TEST_CASE("percentages are read as FlexGen writes them, and others are refused") {
  const auto policy = with_percentages({}, "20,80,0,100,0,100", "--percent");
  REQUIRE(policy);
  CHECK(policy->weights == TierShares{0.2, 0.8});
  CHECK(policy->cache == TierShares{0, 1});
  CHECK(policy->weights.ssd() == 0);
  for (const char* wrong : {"", "20", "20,80,0,100,0", "60,60,0,100,0,100", "20,80,0,100,0,100,1", "-1,80,0,100,0,100"}) {
    CHECK_FALSE(with_percentages({}, wrong, "--percent"));
  }
}
