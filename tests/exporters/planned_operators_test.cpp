#include "core/plan/planned_operators.h"

#include <catch2/catch.hpp>

#include "sim/planner/lower_to_plan.h"
#include "tests/support/small_models.h"
#include "tests/support/tiny_platform.h"

namespace plimsoll::test {
namespace {

Plan lowered(const Strategy& strategy) {
  return lower_to_plan(small_model(Family::kGpt2), small_recipe(), tiny_platform(), strategy, {}).value();
}

const PlannedOperator* find(const std::vector<PlannedOperator>& block, std::string_view output) {
  for (const PlannedOperator& made : block) {
    if (made.output == output) return &made;
  }
  FAIL("no operator makes " << output);
  return nullptr;
}

}  // namespace

TEST_CASE("a plan that recomputes nothing keeps what backward reads, to the byte") {
  const auto blocks = planned_operators(lowered({.name = "resident"}));
  REQUIRE(blocks.size() == 4);
  // 2 sequences of 32 tokens in fp32: queries, keys and values of 3 x 32 numbers a token.
  CHECK(find(blocks[1], "qkv")->kept == Bytes(2 * 32 * 96 * 4));
  // 32 numbers a token, and the log-sum-exp of 4 heads.
  CHECK(find(blocks[1], "attention")->kept == Bytes(2 * 32 * (32 + 4) * 4));
  // Backward of the sum reads no output of the projection.
  CHECK(find(blocks[1], "attention projection")->kept == Bytes(0));
  for (const auto& block : blocks) {
    for (const PlannedOperator& made : block) CHECK(made.again == Bytes(0));
  }
}

TEST_CASE("a plan that recomputes every block keeps the blocks' inputs alone") {
  const auto blocks = planned_operators(lowered({.name = "every", .recompute_every = 1}));
  // A block's input is the sum that the block before it ends with: 32 numbers a token.
  CHECK(find(blocks[1], "residual 2")->kept == Bytes(2 * 32 * 32 * 4));
  CHECK(find(blocks[1], "qkv")->kept == Bytes(0));
  CHECK(find(blocks[1], "qkv")->again == Bytes(2 * 32 * 96 * 4));
  CHECK(find(blocks[1], "residual 2")->again == Bytes(0));
}

TEST_CASE("operators that a plan keeps of a recomputed block are kept and not computed again") {
  const auto blocks = planned_operators(lowered({.name = "kept", .recompute_every = 1, .kept_outputs = 3}));
  std::size_t kept = 0, again = 0;
  for (const PlannedOperator& made : blocks[1]) {
    CHECK((made.kept.count == 0 || made.again.count == 0));
    kept += made.kept.count > 0 && made.output != "residual 2" ? 1 : 0;
    again += made.again.count > 0 ? 1 : 0;
  }
  CHECK(kept == 3);
  CHECK(again > 0);
}

TEST_CASE("what waits in host memory is told as away") {
  Strategy strategy{.name = "away", .recompute_every = 1, .activations = Tier::kHost, .activation_blocks = 4};
  const auto blocks = planned_operators(lowered(strategy));
  CHECK(find(blocks[1], "residual 2")->away == Bytes(2 * 32 * 32 * 4));
  CHECK(find(blocks[1], "residual 2")->kept == Bytes(2 * 32 * 32 * 4));
}

}  // namespace plimsoll::test
