#include <catch2/catch.hpp>

#include "core/graph/graph.h"
#include "core/graph/logits_graph.h"
#include "core/graph/loss_layer.h"
#include "core/model/loss_tokens.h"
#include "tests/support/small_models.h"

namespace plimsoll::test {
namespace {

/// A Llama of 128,256 words in bf16: 256 MiB hold the logits of 268,435,456 / (2 · 128,256) = 1,046 tokens.
ModelSpec wordy() {
  ModelSpec spec = small_model(Family::kLlama, 1);
  spec.vocabulary = 128256;
  spec.max_positions = 65536;
  return spec;
}

Recipe recipe_of(std::int64_t micro_batch, std::int64_t sequence, std::int64_t accumulate = 1) {
  return {.precision = Precision::kBf16Mixed, .micro_batch = micro_batch, .accumulate = accumulate, .sequence = sequence};
}

std::vector<std::pair<std::int64_t, std::int64_t>> parts_of(const Recipe& recipe) {
  std::vector<std::pair<std::int64_t, std::int64_t>> parts;
  for (const LossPart& part : loss_parts(wordy(), recipe)) parts.emplace_back(part.first, part.rows);
  return parts;
}

std::vector<Op> ops_of(const Graph& graph, OpKind kind) {
  std::vector<Op> found;
  for (const Op& op : graph.ops) {
    if (op.kind == kind) found.push_back(op);
  }
  return found;
}

}  // namespace

TEST_CASE("a loss comes in parts of whole sequences, or in even parts of one, of about 256 MiB of logits") {
  CHECK(loss_tokens(wordy(), recipe_of(2, 512)) == 0);      // 1,024 tokens are all of them
  CHECK(loss_tokens(wordy(), recipe_of(3, 512)) == 1024);   // two sequences of 512, then one
  CHECK(loss_tokens(wordy(), recipe_of(1, 4096)) == 1024);  // 4,096 / 1,046: four parts
  CHECK(loss_tokens(wordy(), recipe_of(1, 1500)) == 750);   // two parts
  CHECK(parts_of(recipe_of(3, 512)) == std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 1024}, {1024, 512}});
  CHECK(parts_of(recipe_of(2, 1501)) ==
        std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 751}, {751, 750}, {1501, 751}, {2252, 750}});
}

TEST_CASE("fewer than 1,024 tokens are never cut, nor heads with a bias, of classes, or behind no norm") {
  ModelSpec spec = wordy();
  spec.vocabulary = 1 << 20;
  CHECK(loss_tokens(spec, recipe_of(1, 1024)) == 0);
  CHECK(loss_tokens(spec, recipe_of(1, 2048)) == 1024);
  spec.head_bias = true;
  CHECK(loss_tokens(spec, recipe_of(1, 2048)) == 0);
  CHECK(loss_tokens(small_model(Family::kBert), recipe_of(4096, 512)) == 0);
}

TEST_CASE("each part's logits live in backward alone, and its tokens begin where its rows do") {
  const Graph graph = build_training_graph(wordy(), recipe_of(2, 1501));
  const std::vector<Op> losses = ops_of(graph, OpKind::kCrossEntropy), weights = ops_of(graph, OpKind::kLinearBackwardWeight);
  REQUIRE(losses.size() == 4);
  // Sequences have one token more than rows, and rows of a part read one more than themselves.
  const std::int64_t firsts[] = {0, 751, 1502, 2253}, rows[] = {751, 750, 751, 750};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(losses[i].phase == Phase::kBackward);
    CHECK(losses[i].shape.rows == rows[i]);
    CHECK(losses[i].shape.inputs == 3002);
    CHECK(losses[i].shape.terms == 3002);
    CHECK(graph.at(losses[i].operands[0].tensor).elements == rows[i] * 128256);
    CHECK(graph.at(losses[i].operands[1].tensor).view_offset == firsts[i]);
    CHECK(graph.at(losses[i].operands[1].tensor).elements == rows[i] + 1);
    CHECK(losses[i].operands.back().tensor == losses[0].operands.back().tensor);
    CHECK(losses[i].operands.back().access == (i == 0 ? Access::kWrite : Access::kReadWrite));
    CHECK(weights[i].shape.outputs == 128256);
    CHECK(weights[i].operands[2].access == (i == 0 ? Access::kWrite : Access::kReadWrite));
  }
  CHECK(ops_of(build_training_graph(wordy(), recipe_of(2, 1501), {.evaluation = true}), OpKind::kLoss).size() == 4);
}

TEST_CASE("a forward pass to the logits writes those of all rows last") {
  const Graph graph = build_logits_graph(wordy(), recipe_of(1, 4096), 1);
  CHECK(graph.ops.back().kind == OpKind::kLinear);
  CHECK(graph.at(graph.ops.back().operands.back().tensor).elements == 4096 * std::int64_t{128256});
}

}  // namespace plimsoll::test
