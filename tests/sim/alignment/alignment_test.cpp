#include <catch2/catch.hpp>

#include "formats/machines/catalogue_platform.h"
#include "formats/models/resolve_model.h"
#include "sim/alignment/dpo.h"
#include "sim/alignment/frozen_model.h"
#include "sim/alignment/planned_training.h"
#include "sim/alignment/ppo.h"
#include "sim/cost/catalogue_cost_model.h"
#include "sim/inference/inference_costs.h"

using namespace plimsoll;

namespace {

Platform machine(const char* gpu, Bytes ram) {
  return with_cpu_rate(gpu_platform(*find_gpu(built_in_gpu_catalogue(), gpu), {.ram = ram})->platform);
}

Recipe recipe() {
  Recipe made;
  made.precision = Precision::kFp16Mixed;
  made.sequence = 512;
  return made;
}

const AlignmentPhase& phase(const AlignmentAnswer& answer, const std::string& name) {
  for (const AlignmentPhase& one : answer.phases) {
    if (one.name == name) return one;
  }
  FAIL("no phase " << name);
  return answer.phases.front();
}

}  // namespace

TEST_CASE("DPO's reference takes two bytes a parameter beside the policy, and none with adapters") {
  const ModelSpec spec = *resolve_model("gpt2");
  const Platform platform = machine("A100 80GB SXM4", 128 * kGiB);
  const CatalogueCostModel costs;
  const auto whole = answer_dpo(spec, recipe(), platform, costs);
  REQUIRE(whole);
  CHECK(whole->fits);
  CHECK(whole->models[1].device == Bytes(2 * 124439808));
  CHECK(whole->device_peak() == phase(*whole, "policy").device);
  // A step trains two answers a pair: it is the policy's own step over twice the batch, and the reference's pass.
  Recipe both = recipe();
  both.micro_batch = 2;
  const auto alone = plan_training(spec, both, less_memory(platform, whole->models[1].device, Bytes(0)), costs);
  CHECK(phase(*whole, "policy").seconds == alone->step_seconds);
  CHECK(phase(*whole, "reference").seconds > 0);
  CHECK(phase(*whole, "reference").seconds < alone->step_seconds / 2);
  Recipe adapted = recipe();
  adapted.adapter.rank = 8;
  adapted.adapter.alpha = 16;
  adapted.adapter.targets = {AdapterTarget::kQkv};
  const auto low_rank = answer_dpo(spec, adapted, platform, costs);
  REQUIRE(low_rank);
  CHECK(low_rank->models[1].device == Bytes(0));
  CHECK(low_rank->device_peak() < whole->device_peak());
}

TEST_CASE("where the device is small the reference waits in host memory, and what fits nowhere is said to be short") {
  const ModelSpec spec = *resolve_model("gpt2-xl");
  const CatalogueCostModel costs;
  const auto small = answer_dpo(spec, recipe(), machine("RTX 2060 6GB", 128 * kGiB), costs);
  REQUIRE(small);
  CHECK(small->device_peak() <= small->device_usable);
  CHECK(small->fits);
  const auto nowhere = answer_dpo(spec, recipe(), machine("RTX 2060 6GB", 8 * kGiB), costs);
  REQUIRE(nowhere);
  CHECK_FALSE(nowhere->fits);
  CHECK(nowhere->shortfall.find("host memory") != std::string::npos);
}

TEST_CASE("PPO keeps four models, and every phase holds what rests of all of them") {
  const PpoTask task{.actor = *resolve_model("gpt2"),
                     .critic = *resolve_model("gpt2"),
                     .reward = *resolve_model("gpt2-medium"),
                     .recipe = recipe(),
                     .prompt = 256,
                     .new_tokens = 256,
                     .epochs = 2};
  const Platform platform = machine("A100 80GB SXM4", 128 * kGiB);
  const CatalogueCostModel costs;
  const auto answer = answer_ppo(task, platform, costs);
  REQUIRE(answer);
  CHECK(answer->fits);
  REQUIRE(answer->models.size() == 4);
  Bytes resting;
  for (const ResidentModel& model : answer->models) resting += model.device;
  for (const AlignmentPhase& one : answer->phases) {
    INFO(one.name);
    if (one.name != "generate") CHECK(one.device >= resting);
    CHECK(one.seconds > 0);
  }
  CHECK(answer->models[2].device == Bytes(2 * 124439808));
  CHECK(answer->models[3].device == Bytes(2 * 354823168));
  PpoTask once = task;
  once.epochs = 1;
  CHECK(phase(*answer, "train actor").seconds == 2 * phase(*answer_ppo(once, platform, costs), "train actor").seconds);
}

TEST_CASE(
    "two trainings that take turns fit where halves of the machine would not, and each leaves room for what rests of the other") {
  // gpt2 twice: 16 bytes a parameter are 2.0 GB each at rest and in turn. In 5.45 GiB of the device halves leave no room for a
  // micro-batch's activations beside them, so some are computed again; in turns there are 5.45 - 2 · 1.85 GiB.
  const ModelSpec spec = *resolve_model("gpt2");
  Recipe eight = recipe();
  eight.micro_batch = 8;
  const Platform platform = machine("RTX 2060 6GB", 64 * kGiB);
  const CatalogueCostModel costs;
  const auto both = plan_together(spec, spec, eight, platform, costs);
  REQUIRE(both);
  const auto& [one, other] = *both;
  CHECK(one.fits);
  const Bytes device = platform.at(*platform.space(SpaceKind::kDevice)).usable;
  CHECK(one.device_peak + other.device_resting <= device);
  CHECK(other.device_peak + one.device_resting <= device);
  const Bytes half(device.count / 2);
  const auto in_half = plan_training(spec, eight, less_memory(platform, half, Bytes(0)), costs);
  REQUIRE(in_half);
  CHECK(one.step_seconds + other.step_seconds < 2 * in_half->step_seconds);
  const auto nowhere = plan_together(spec, spec, eight, machine("RTX 2060 6GB", 3 * kGiB), costs);
  REQUIRE(nowhere);
  CHECK(nowhere->first.fits == nowhere->second.fits);
}
