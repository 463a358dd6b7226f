#include <catch2/catch.hpp>

#include "core/plan/expand.h"
#include "core/plan/verify_plan.h"
#include "sim/planner/lower_to_plan.h"
#include "sim/planner/predict.h"
#include "tests/sim/des/fixed_costs.h"
#include "tests/support/small_models.h"
#include "tests/support/tiny_platform.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

Plan scaled(const Strategy& strategy, Precision precision = Precision::kFp16Mixed, double clip = 1) {
  Recipe recipe = small_recipe(2);
  recipe.clip = clip;
  recipe.precision = precision;
  return lower_to_plan(small_model(Family::kGpt2), recipe, tiny_platform(), strategy).value();
}

const Strategy kOnDevice{};
const Strategy kOnHost{.optimizer = Tier::kHost, .gradients = Tier::kHost};
const Strategy kOnSsd{.parameters = Tier::kSsd, .optimizer = Tier::kSsd, .gradients = Tier::kHost};

bool writes_lasting(const Plan& plan, const FlatBody& body, const Instruction& instruction) {
  for (const Use& use : body.uses(instruction)) {
    const bool scale = plan.buffers[use.target].category == TensorKind::kScalar;
    if (writes(use.access) && plan.buffers[use.target].persistent && !scale) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("everything that changes what lasts of weights and states is guarded where the loss is scaled, and nothing else") {
  for (const Strategy& strategy : {kOnDevice, kOnHost, kOnSsd}) {
    for (const double clip : {0.0, 1.0}) {
      const Plan plan = scaled(strategy, Precision::kFp16Mixed, clip);
      REQUIRE(verify_plan(plan));
      const FlatBody body = expand(plan, *plan.body("step"));
      std::size_t guarded = 0;
      for (const Instruction& instruction : body.list.instructions) {
        const bool update = instruction.kind == InstructionKind::kLaunch && plan.at(instruction.kernel).kind == OpKind::kAdamW;
        CAPTURE(describe(strategy), to_text(instruction.kind));
        CHECK((instruction.guard != kNoGuard) == (update || writes_lasting(plan, body, instruction)));
        guarded += instruction.guard != kNoGuard ? 1 : 0;
      }
      CHECK(guarded >= 6);
    }
  }
}

TEST_CASE("a scaled plan takes a few bytes more than one in bf16, and the same time") {
  // The scale, 40 bytes, is there once more on the device where updates are made on the host; the factor grows by 16 bytes and
  // its flag takes 8. Each starts at a multiple of 256.
  for (const Strategy& strategy : {kOnDevice, kOnHost, kOnSsd}) {
    const Plan half = scaled(strategy), brain = scaled(strategy, Precision::kBf16Mixed);
    for (const Arena& arena : brain.arenas) {
      const Bytes more = half.arena_bytes(arena.space) - arena.bytes;
      CAPTURE(describe(strategy), half.platform.at(arena.space).name);
      CHECK(more >= Bytes(0));
      CHECK(more <= Bytes(4 * 256));
    }
  }
}

TEST_CASE("a prediction takes the probability of a step that is skipped") {
  const FixedCosts costs;
  for (const Strategy& strategy : {kOnDevice, kOnHost, kOnSsd}) {
    const Plan plan = scaled(strategy);
    const auto at = [&](double skips) { return static_cast<double>(predict(plan, costs, {.skips = skips}).value().step.count); };
    CAPTURE(describe(strategy));
    CHECK(at(1) < at(0));
    CHECK(at(0.25) == Approx(0.75 * at(0) + 0.25 * at(1)).margin(1));
    CHECK_FALSE(predict(plan, costs).value().guarded);
  }
  Strategy overlapped = kOnHost;
  overlapped.update_in_backward = true;  // a step that is skipped is redone, as one that clips
  const Plan plan = scaled(overlapped);
  CHECK(guard_probability(plan, {.clips = 0.5, .skips = 0.5}) == 0.75);
  CHECK(guard_probability(scaled(kOnHost), {.clips = 0.5, .skips = 0.25}) == 0.75);
}
