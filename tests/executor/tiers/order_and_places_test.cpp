// Law five where micro-batches run in either order and gradients wait in any tier.
#include <catch2/catch.hpp>

#include "core/plan/verify_plan.h"
#include "executor/cpu/cpu_executor.h"
#include "sim/planner/lower_to_plan.h"
#include "tests/executor/tiers/three_steps.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_training.h"

namespace plimsoll {
namespace {

constexpr Tier kTiers[] = {Tier::kDevice, Tier::kHost, Tier::kSsd};

/// Both orders × recomputation × where weights and gradients wait, with states where the CPU finds them.
std::vector<Strategy> strategies(std::int64_t recompute_every) {
  std::vector<Strategy> all;
  for (const LoopOrder order : {LoopOrder::kDepthFirst, LoopOrder::kBreadthFirst}) {
    all.push_back({.name = "resident", .recompute_every = recompute_every, .loop_order = order});
    for (const Tier parameters : kTiers) {
      for (const Tier gradients : kTiers) {
        all.push_back({.name = "made up",
                       .recompute_every = recompute_every,
                       .parameters = parameters,
                       .optimizer = parameters == Tier::kHost ? Tier::kHost : Tier::kSsd,
                       .gradients = gradients,
                       .loop_order = order,
                       .staging_slots = 1 + static_cast<std::int64_t>(all.size() % 3)});
      }
    }
  }
  return all;
}

/// A model of four blocks whose training every plan of the same recipe repeats bit for bit.
struct Case {
  ModelSpec spec;
  Recipe recipe = tiny_recipe();
  std::vector<double> expected;  ///< the resident plan's losses, one thread

  [[nodiscard]] Plan plan(const Strategy& strategy) const {
    auto lowered = lower_to_plan(spec, recipe, tiny_machine(), strategy);
    if (!lowered) FAIL(lowered.error().text());
    return std::move(*lowered);
  }
};

/// GPT and Llama, tied and untied.
std::vector<Case> cases(std::int64_t accumulate) {
  std::vector<Case> all;
  for (const Family family : {Family::kGpt2, Family::kLlama}) {
    for (const bool tied : {true, false}) {
      Case& made = all.emplace_back();
      made.spec = tiny_spec(family);
      made.spec.layers = 4;
      made.spec.tied_head = tied;
      made.recipe.accumulate = accumulate;
      made.expected = three_losses(made.plan({}), {.threads = 1});
    }
  }
  return all;
}

/// All strategies, each with the next of the models, at one and two threads in turn, every third under random delays.
void check_all(std::int64_t accumulate) {
  const TemporaryFolder folder;
  const std::vector<Case> models = cases(accumulate);
  std::uint64_t run = 0;
  for (const std::int64_t recompute : {0, 1, 3}) {
    for (const Strategy& strategy : strategies(recompute)) {
      const Case& model = models[run % models.size()];
      const Plan plan = model.plan(strategy);
      CAPTURE(describe(strategy), model.spec.name, model.spec.tied_head, accumulate, run);
      const auto verified = verify_plan(plan);
      if (!verified) FAIL(verified.error().text());
      const CpuOptions options{.threads = 1 + static_cast<std::int64_t>(run / 2 % 2), .jitter_seed = run % 3 == 0 ? run + 1 : 0,
                               .drive = {.folder = folder.path(), .way = IoWay::kThreads}};
      CHECK(three_losses(plan, options) == model.expected);
      ++run;
    }
    ++run;  // so that the next round gives each strategy another model
  }
}

}  // namespace

TEST_CASE("neither the order of micro-batches nor where gradients wait changes a bit of any loss") {
  check_all(1);
  check_all(3);
}

}  // namespace plimsoll
