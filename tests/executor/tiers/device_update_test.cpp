// Law five where the device updates blocks whose states wait elsewhere, and what such updates move.
#include <catch2/catch.hpp>

#include <map>

#include "core/plan/expand.h"
#include "sim/planner/lower_to_plan.h"
#include "tests/executor/tiers/three_steps.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kBlocks = 4;

/// Of all blocks, and of some beside others that the CPU updates or whose states stay, under every place of gradients and weights.
std::vector<Strategy> strategies() {
  std::vector<Strategy> all;
  for (const Tier optimizer : {Tier::kHost, Tier::kSsd}) {
    for (const Tier gradients : {Tier::kDevice, Tier::kHost, Tier::kSsd}) {
      for (const bool overlapped : {false, true}) {
        all.push_back({.optimizer = optimizer, .gradients = gradients, .update_in_backward = overlapped, .device_update_blocks = kBlocks});
        all.push_back({.optimizer = optimizer, .gradients = gradients, .update_in_backward = overlapped, .device_state_blocks = 1,
                       .host_state_blocks = optimizer == Tier::kSsd ? 2 : 0, .device_update_blocks = 2, .staging_slots = 1});
      }
    }
    for (const bool overlapped : {false, true}) {
      all.push_back({.parameters = optimizer, .optimizer = optimizer, .gradients = Tier::kHost, .loop_order = LoopOrder::kBreadthFirst,
                     .update_in_backward = overlapped, .device_update_blocks = kBlocks, .staging_slots = 3});
      all.push_back({.recompute_every = 1, .parameters = optimizer, .device_parameter_blocks = 2, .optimizer = optimizer,
                     .gradients = Tier::kHost, .update_in_backward = overlapped, .device_update_blocks = 3});
    }
  }
  return all;
}

/// Bytes that one step's copies move, by the queue that moves them; guarded ones, which seldom run, apart.
std::map<std::string, std::int64_t> optimizer_traffic(const Plan& plan) {
  std::map<std::string, std::int64_t> bytes;
  const FlatBody step = expand(plan, *plan.body("step"));
  for (const Instruction& instruction : step.list.instructions) {
    if (instruction.phase != Phase::kOptimizer || instruction.kind != InstructionKind::kCopy) continue;
    const Use& from = step.uses(instruction)[0];
    if (plan.buffers[from.target].category == TensorKind::kScalar) continue;
    bytes[(instruction.guard == kNoGuard ? "" : "guarded ") + plan.platform.at(instruction.queue).name] += from.bytes.count;
  }
  return bytes;
}

std::int64_t block_elements(const Plan& plan) {
  std::int64_t elements = 0;
  for (const ParameterGroup& group : lay_out_parameters(plan.spec, plan.recipe.adapter).groups) {
    if (group.block >= 0) elements += group.elements;
  }
  return elements;
}

}  // namespace

TEST_CASE("blocks that the device updates from states elsewhere change no bit of any loss") {
  CHECK(check_precisions(strategies()) > 20);
  Recipe recipe = tiny_recipe();
  recipe.precision = Precision::kBf16;
  recipe.accumulate = 1;
  recipe.clip = 1e-3;  // every step is clipped, so what is guessed is redone
  CHECK(check_law_five(four_blocks(Family::kGpt2), recipe, strategies()) > 20);
}

TEST_CASE("rules of whole matrices are no other on the device") {
  Recipe recipe = tiny_recipe();
  recipe.precision = Precision::kBf16Mixed;
  for (const OptimizerKind kind : {OptimizerKind::kMuon, OptimizerKind::kAdam8bit, OptimizerKind::kLamb}) {
    recipe.optimizer = kind;
    const ModelSpec spec = four_blocks(Family::kLlama);
    const std::vector<double> expected = three_losses(lawful_plan(spec, recipe, {}), {.threads = 1});
    for (const bool overlapped : {false, true}) {
      const Strategy strategy{.parameters = Tier::kHost, .optimizer = Tier::kHost, .gradients = Tier::kHost,
                              .update_in_backward = overlapped, .device_update_blocks = 3};
      CAPTURE(describe(strategy));
      CHECK(three_losses(lawful_plan(spec, recipe, strategy), {.threads = 2}) == expected);
    }
  }
}

// bf16 mixed, n elements in blocks: master weights and two moments come and go, 12 n bytes each way. Gradients stay on the device
// and weights are written where they lie, so blocks move nothing else; embedding and final norm (e elements), which the CPU
// updates, send their gradients (2 e) and fetch their weights (2 e).
TEST_CASE("states come and go once, gradients that stay on the device do not move") {
  Recipe recipe = tiny_recipe();
  recipe.precision = Precision::kBf16Mixed;
  recipe.accumulate = 1;
  const Plan plan = lawful_plan(four_blocks(Family::kGpt2), recipe, {.optimizer = Tier::kHost, .device_update_blocks = kBlocks});
  const std::int64_t n = block_elements(plan), e = lay_out_parameters(plan.spec).elements() - n;
  const auto moved = optimizer_traffic(plan);
  CHECK(moved == std::map<std::string, std::int64_t>{{"h2d", 12 * n + 2 * e}, {"d2h", 12 * n + 2 * e}});
}

// Streamed weights in bf16 mixed, gradients in host memory: gradients leave during backward (no optimizer's copies) and come back
// with the states, 14 n; the states and the new weights go, 14 n.
TEST_CASE("a gradient that waits in host memory comes back with the states, and the weights leave with them") {
  Recipe recipe = tiny_recipe();
  recipe.precision = Precision::kBf16Mixed;
  recipe.accumulate = 1;
  const Plan plan = lawful_plan(four_blocks(Family::kGpt2), recipe,
                                {.parameters = Tier::kHost, .optimizer = Tier::kHost, .gradients = Tier::kHost, .device_update_blocks = kBlocks});
  const std::int64_t n = block_elements(plan);
  const auto moved = optimizer_traffic(plan);
  CHECK(moved == std::map<std::string, std::int64_t>{{"h2d", 14 * n}, {"d2h", 14 * n}});
}

// The same during backward, with clipping: the update reads the gradient before it has left, so 12 n come; what is guarded does all
// of it once more for every block but the last, which waits for the norm, with gradients that come back.
TEST_CASE("an update in backward reads the gradient that is there, and its redo the one that left") {
  Recipe recipe = tiny_recipe();
  recipe.precision = Precision::kBf16Mixed;
  recipe.accumulate = 1;
  const Plan plan = lawful_plan(four_blocks(Family::kGpt2), recipe,
                                {.parameters = Tier::kHost, .optimizer = Tier::kHost, .gradients = Tier::kHost,
                                 .update_in_backward = true, .device_update_blocks = kBlocks});
  const std::int64_t n = block_elements(plan);
  const auto moved = optimizer_traffic(plan);
  CHECK(moved == std::map<std::string, std::int64_t>{
                     {"h2d", 12 * n}, {"d2h", 14 * n}, {"guarded h2d", 14 * n}, {"guarded d2h", 14 * n}});
}

TEST_CASE("more blocks for the device than there are, or beside states that are all there, are refused by name") {
  const auto refused = [](const Strategy& strategy) {
    const auto checked = check_lowerable(four_blocks(Family::kGpt2), tiny_recipe(), tiny_machine(), strategy);
    REQUIRE(!checked);
    return checked.error().text();
  };
  CHECK_THAT(refused({.optimizer = Tier::kHost, .device_state_blocks = 2, .device_update_blocks = 3}),
             Catch::Contains("device_state_blocks + device_update_blocks: 5"));
  CHECK_THAT(refused({.device_update_blocks = 1}), Catch::Contains("while all states are on the device"));
}

}  // namespace plimsoll
