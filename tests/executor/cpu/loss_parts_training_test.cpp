// A loss in parts is the loss of the whole, and the same bits in every plan.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>

#include "core/graph/loss_layer.h"
#include "core/plan/verify_plan.h"
#include "executor/cpu/cpu_executor.h"
#include "sim/planner/lower_to_plan.h"
#include "tests/support/run_graph.h"
#include "tests/support/tiny_training.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kSequence = 768;

/// 70,000 words in fp32: 256 MiB hold the logits of 958 tokens, so parts have at most 1,024: one sequence of 768.
ModelSpec wordy(bool tied) {
  ModelSpec spec = tiny_spec(Family::kLlama);
  spec.layers = 1;
  spec.hidden = 8;
  spec.heads = spec.kv_heads = 1;
  spec.ffn = 8;
  spec.vocabulary = 70000;
  spec.max_positions = kSequence;
  spec.tied_head = tied;
  return spec;
}

Recipe recipe_of(std::int64_t micro_batch, std::int64_t accumulate) {
  Recipe recipe = tiny_recipe();
  recipe.micro_batch = micro_batch;
  recipe.accumulate = accumulate;
  recipe.sequence = kSequence;
  return recipe;
}

struct Pass {
  double loss = 0;
  std::vector<std::vector<double>> gradients;  ///< by group
};

/// Forward and backward of sequences [first, first + micro-batch) of those that `tokens` holds; the weights are those of a seed.
Pass pass_of(const ModelSpec& spec, const Recipe& recipe, const std::vector<std::int32_t>& tokens, std::size_t first) {
  const Graph graph = build_training_graph(spec, recipe, {.workers = 2});
  test::GraphRun run(graph, 2);
  run.initialize(3);
  const auto batch = run.values<std::int32_t>(run.find(TensorKind::kTokens));
  std::copy_n(tokens.begin() + static_cast<std::ptrdiff_t>(first * (kSequence + 1)), batch.size(), batch.begin());
  run.run(Phase::kForward);
  run.run(Phase::kBackward);
  Pass pass{.loss = run.loss(), .gradients = {}};
  for (std::size_t g = 0; g < graph.parameters.groups.size(); ++g) {
    pass.gradients.push_back(run.numbers(run.find(TensorKind::kGradient, GroupId(g))));
  }
  return pass;
}

std::vector<double> losses_of(const Recipe& recipe, const Strategy& strategy, std::int64_t threads) {
  const auto plan = lower_to_plan(wordy(true), recipe, tiny_machine(), strategy);
  if (!plan) FAIL(plan.error().text());
  const auto verified = verify_plan(*plan);
  if (!verified) FAIL(verified.error().text());
  auto executor = CpuExecutor::create(*plan, {.threads = threads});
  if (!executor) FAIL(executor.error().text());
  (*executor)->initialize();
  const auto trace = (*executor)->run_steps({.steps = 2, .first_traced_step = 2}, RepeatedText("the quick brown fox. "));
  REQUIRE(trace);
  CHECK((*executor)->check_touched());
  std::vector<double> losses;
  for (const StepSummary& step : trace->steps) losses.push_back(step.loss);
  return losses;
}

}  // namespace

TEST_CASE("a loss in parts and its gradients are those of the parts' sequences") {
  const ModelSpec spec = wordy(false);
  std::vector<std::int32_t> tokens;
  for (std::int32_t i = 0; i < 2 * (kSequence + 1); ++i) tokens.push_back(i * 7919 % 70000);
  REQUIRE(loss_parts(spec, recipe_of(2, 1)).size() == 2);
  REQUIRE(loss_parts(spec, recipe_of(1, 2)).size() == 1);
  const Pass whole = pass_of(spec, recipe_of(2, 1), tokens, 0);
  const Pass first = pass_of(spec, recipe_of(1, 2), tokens, 0), second = pass_of(spec, recipe_of(1, 2), tokens, 1);
  CHECK(whole.loss == Approx((first.loss + second.loss) / 2).epsilon(1e-9));
  for (std::size_t g = 0; g < whole.gradients.size(); ++g) {
    double most = 0, apart = 0;
    for (std::size_t i = 0; i < whole.gradients[g].size(); ++i) {
      most = std::max(most, std::abs(whole.gradients[g][i]));
      apart = std::max(apart, std::abs(whole.gradients[g][i] - first.gradients[g][i] - second.gradients[g][i]));
    }
    CAPTURE(g);
    CHECK(most > 0);
    CHECK(apart < 1e-5 * most);
  }
}

TEST_CASE("plans with a loss in parts train the same bits, with several micro-batches and with any number of workers") {
  for (const std::int64_t accumulate : {1, 2}) {
    const Recipe recipe = recipe_of(2, accumulate);
    const std::vector<double> expected = losses_of(recipe, {}, 1);
    CHECK(expected.at(0) == Approx(std::log(70000.0)).epsilon(0.02));  // nothing is learnt yet
    CHECK(expected.at(1) < expected.at(0));
    CHECK(losses_of(recipe, {.recompute_every = 1}, 2) == expected);
    CHECK(losses_of(recipe, {.parameters = Tier::kHost, .optimizer = Tier::kHost, .gradients = Tier::kHost,
                             .loop_order = accumulate > 1 ? LoopOrder::kBreadthFirst : LoopOrder::kDepthFirst}, 2) == expected);
  }
}

}  // namespace plimsoll
