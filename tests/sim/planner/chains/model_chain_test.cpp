#include "sim/planner/chains/model_chain.h"

#include <catch2/catch.hpp>

#include "core/graph/graph.h"
#include "sim/planner/chains/compare_chain_plans.h"
#include "sim/planner/lower_bound.h"
#include "sim/planner/lower_to_plan.h"
#include "tests/sim/planner/plain_costs.h"
#include "tests/support/small_models.h"
#include "tests/support/tiny_platform.h"

namespace plimsoll::test {
namespace {

BlockChain small_chain(Family family) {
  const auto chain = model_chain(small_model(family), small_recipe(), tiny_platform(), PlainCosts());
  INFO((chain ? "" : chain.error().text()));
  REQUIRE(chain);
  return *chain;
}

double kernel_seconds(Family family) {
  double seconds = 0;
  const Graph graph = build_training_graph(small_model(family), small_recipe());
  for (const Op& op : graph.ops) {
    if (op.phase != Phase::kForward && op.phase != Phase::kBackward) continue;
    seconds += to_seconds(PlainCosts().kernel({}, {op.kind, op.dtype, op.shape})->median);
  }
  return seconds;
}

}  // namespace

TEST_CASE("a model's chain without recomputation takes the time of its kernels, each once") {
  for (const Family family : {Family::kGpt2, Family::kLlama}) {
    const BlockChain chain = small_chain(family);
    CHECK(chain.blocks.size() == static_cast<std::size_t>(small_model(family).layers) + 2);
    const ChainCurve curve(chain);
    CHECK(curve.steps().back().seconds == Approx(kernel_seconds(family)).epsilon(1e-12));
  }
}

TEST_CASE("an option that saves more of a block takes less time, and the smallest one saves the block's output alone") {
  const BlockChain chain = small_chain(Family::kGpt2);
  for (std::size_t s = 1; s + 1 < chain.blocks.size(); ++s) {
    const auto& options = chain.blocks[s].options;
    REQUIRE(options.size() > 1);
    CHECK(options.front().saved == chain.boundary(s + 1));
    for (std::size_t k = 1; k < options.size(); ++k) CHECK(options[k].saved >= options[k - 1].saved);
    CHECK(options.back().backward_seconds < options.front().backward_seconds);
    CHECK(options.front().backward_seconds <= options.back().backward_seconds + chain.blocks[s].forward_only_seconds);
  }
}

TEST_CASE("a model's best schedule within a budget is no slower than the best option for all blocks") {
  const BlockChain chain = small_chain(Family::kLlama);
  const ChainCurve curve(chain);
  const Bytes least = curve.steps().front().bytes, most = curve.steps().back().bytes;
  for (std::int64_t share = 0; share <= 10; ++share) {
    const auto answer = compare_chain_plans(chain, curve, least + Bytes((most - least).count * share / 10));
    REQUIRE(answer);
    REQUIRE(answer->best);
    CHECK(answer->best->replay.seconds >= *answer->lower_bound * (1 - 1e-9));
    REQUIRE(answer->baselines.size() == 4);
    for (const ChainPlan& plan : answer->baselines) {
      if (plan.fits) CHECK(answer->best->replay.seconds <= plan.replay.seconds * (1 + 1e-9));
    }
  }
}

}  // namespace plimsoll::test
