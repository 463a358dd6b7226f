#include <catch2/catch.hpp>

#include <algorithm>

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

constexpr Tier kDevice = Tier::kDevice, kHost = Tier::kHost, kSsd = Tier::kSsd;

Strategy overlapped(Tier parameters, Tier optimizer, Tier gradients, std::int64_t recompute = 0) {
  return {.name = "overlapped", .recompute_every = recompute, .parameters = parameters, .optimizer = optimizer,
          .gradients = gradients, .update_in_backward = true};
}

Strategy after_backward(Strategy strategy) {
  strategy.update_in_backward = false;
  return strategy;
}

Plan lowered(const Strategy& strategy, double clip, Precision precision = Precision::kFp32, std::int64_t accumulate = 1) {
  Recipe recipe = small_recipe(accumulate);
  recipe.clip = clip;
  recipe.precision = precision;
  return lower_to_plan(small_model(Family::kGpt2), recipe, tiny_platform(), strategy, {.evaluation = true}).value();
}

Bytes peak(const Plan& plan, SpaceKind kind) { return plan.arena_bytes(*plan.platform.space(kind)); }

/// Ids of the launches of a kind, in order.
std::vector<std::uint32_t> launches(const Plan& plan, const FlatBody& body, OpKind kind) {
  std::vector<std::uint32_t> ids;
  for (std::uint32_t id = 0; id < body.size(); ++id) {
    const Instruction& instruction = body.list.instructions[id];
    if (instruction.kind == InstructionKind::kLaunch && plan.at(instruction.kernel).kind == kind) ids.push_back(id);
  }
  return ids;
}

}  // namespace

TEST_CASE("updates during backward obey the law of plans wherever weights, states and gradients lie") {
  for (const double clip : {0.0, 1.0}) {
    for (const Precision precision : {Precision::kFp32, Precision::kBf16Mixed, Precision::kFp16Mixed}) {
      for (const std::int64_t accumulate : {1, 3}) {
        for (const std::int64_t recompute : {0, 1, 3}) {
          for (const Strategy& strategy :
               {overlapped(kDevice, kDevice, kDevice, recompute), overlapped(kDevice, kHost, kDevice, recompute),
                overlapped(kDevice, kSsd, kHost, recompute), overlapped(kHost, kHost, kHost, recompute),
                overlapped(kSsd, kSsd, kSsd, recompute), overlapped(kSsd, kHost, kHost, recompute)}) {
            Strategy ordered = strategy;
            for (const LoopOrder order : {LoopOrder::kDepthFirst, LoopOrder::kBreadthFirst}) {
              ordered.loop_order = order;
              const auto verified = verify_plan(lowered(ordered, clip, precision, accumulate));
              INFO(describe(ordered) << ": " << (verified ? std::string() : verified.error().text()));
              CHECK(verified);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("each group's update stands before the backward pass of the block before it") {
  const Plan plan = lowered(overlapped(kDevice, kHost, kHost), 1);
  const FlatBody body = expand(plan, *plan.body("step"));
  const auto updates = launches(plan, body, OpKind::kAdamW);
  const auto backward = launches(plan, body, OpKind::kAttentionBackward);  // one a block
  // Head and 4 blocks as their gradients complete, the embedding with the norm known, then 5 again under a guard.
  REQUIRE(updates.size() == 6 + 5);
  REQUIRE(backward.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(updates[i] < backward[i]);
  for (std::size_t i = 0; i < updates.size(); ++i) {
    CHECK((body.list.instructions[updates[i]].guard != kNoGuard) == (i >= 6));
  }
}

TEST_CASE("without clipping nothing is redone and no second version is kept") {
  const Plan plan = lowered(overlapped(kDevice, kSsd, kHost), 0);
  const FlatBody body = expand(plan, *plan.body("step"));
  CHECK(launches(plan, body, OpKind::kAdamW).size() == 6);
  for (const Instruction& instruction : body.list.instructions) CHECK(instruction.guard == kNoGuard);
  for (const Buffer& buffer : plan.buffers) CHECK((!buffer.persistent || buffer.slots == 1));
}

TEST_CASE("without clipping a gradient lives only until its update, which lowers the peak") {
  // On the device all gradients, 4 bytes a parameter, lie there after backward; during backward those of one block at a
  // time are enough (the tied embedding's stays from the head to the end). The peak then is elsewhere, so of the blocks'
  // gradients the plan saves at least those of all blocks but two.
  const ParameterLayout layout = lay_out_parameters(small_model(Family::kGpt2));
  const Bytes block(4 * layout.at(layout.block(0)).elements);
  const Strategy strategy = overlapped(kDevice, kDevice, kDevice, 1);
  CHECK(peak(lowered(after_backward(strategy), 0), SpaceKind::kDevice) - peak(lowered(strategy, 0), SpaceKind::kDevice) >=
        2 * block);
  const Strategy offloaded = overlapped(kDevice, kHost, kHost, 1);
  CHECK(peak(lowered(after_backward(offloaded), 0), SpaceKind::kHost) - peak(lowered(offloaded, 0), SpaceKind::kHost) >=
        2 * block);
}

TEST_CASE("with clipping the second version of the states is charged to their tier") {
  // fp32: weights and two moments, 12 bytes a parameter, once more.
  const std::int64_t parameters = parameter_count(small_model(Family::kGpt2));
  for (const auto& [strategy, where] : {std::pair(overlapped(kDevice, kHost, kHost), SpaceKind::kHost),
                                        std::pair(overlapped(kDevice, kSsd, kHost), SpaceKind::kSsd),
                                        std::pair(overlapped(kDevice, kDevice, kDevice), SpaceKind::kDevice)}) {
    const Bytes more = peak(lowered(strategy, 1), where) - peak(lowered(after_backward(strategy), 1), where);
    CHECK(more >= Bytes(12 * parameters));
  }
}

TEST_CASE("forward and backward read the weights of before the step's update") {
  const Plan plan = lowered(overlapped(kHost, kHost, kHost), 1);
  const FlatBody body = expand(plan, *plan.body("step"));
  std::size_t streamed = 0;
  for (const Instruction& instruction : body.list.instructions) {
    if (plan.platform.at(instruction.queue).name != "h2d") continue;
    const Use& source = body.uses(instruction)[0];
    if (!plan.buffers[source.target].persistent) continue;
    CHECK(source.age == 1);
    ++streamed;
  }
  CHECK(streamed > 0);
}

TEST_CASE("a recipe without clipping redoes updates in the steps alone that are skipped") {
  Plan plan;
  plan.strategy.update_in_backward = true;
  plan.recipe.clip = 0;
  CHECK(guard_probability(plan, {}) == 0);
  CHECK(guard_probability(plan, {.clips = 1, .skips = 0.25}) == 0.25);
  plan.recipe.clip = 1;
  CHECK(guard_probability(plan, {.clips = 0.5, .skips = 0.25}) == 0.625);  // 1 - 0.5 * 0.75
}

TEST_CASE("a prediction says what steps take that clip, that do not, and in the mean") {
  const Plan plan = lowered(overlapped(kDevice, kHost, kHost), 1);
  const FixedCosts costs;
  const Prediction usual = predict(plan, costs, {.clips = 0.25}).value();
  REQUIRE(usual.guarded);
  CHECK(usual.guarded->skipped < usual.guarded->run);
  CHECK(usual.step == predict_step(plan, costs, {.clips = 0.25}).value());
  CHECK(usual.guarded->skipped == predict_step(plan, costs, {.clips = 0}).value());
  CHECK(usual.guarded->run == predict_step(plan, costs, {.clips = 1}).value());
  const auto count = [](Nanoseconds time) { return static_cast<double>(time.count); };
  const double mean = 0.75 * count(usual.guarded->skipped) + 0.25 * count(usual.guarded->run);
  CHECK(count(usual.step) == Approx(mean).margin(1));
  CHECK(predict(plan, costs).value().step == usual.guarded->run);  // without knowledge every step is taken to clip
  CHECK_FALSE(predict(lowered(overlapped(kDevice, kHost, kHost), 0), costs).value().guarded);
}
