#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "core/graph/graph.h"
#include "tests/support/small_models.h"

namespace plimsoll::test {
namespace {

using Target = AdapterTarget;

Graph graph_beside(Family family, std::vector<Target> targets, std::int64_t accumulate = 1) {
  Recipe recipe = small_recipe(accumulate);
  recipe.adapter = {.rank = 2, .alpha = 4, .targets = std::move(targets)};
  return build_training_graph(small_model(family, 3), recipe);
}

TensorId base_of(const Graph& graph, TensorId id) { return graph.at(id).view_of.valid() ? graph.at(id).view_of : id; }

std::int64_t count(const Graph& graph, OpKind kind, Phase phase, std::int64_t block) {
  return std::count_if(graph.ops.begin(), graph.ops.end(),
                       [&](const Op& op) { return op.kind == kind && op.phase == phase && op.block == block; });
}

/// Names of the forward tensors that the backward pass of a block reads.
std::set<std::string> saved_by(const Graph& graph, std::int64_t block) {
  std::set<std::string> names;
  for (const Op& op : graph.ops) {
    if (op.phase != Phase::kBackward || op.block != block) continue;
    for (const Operand& operand : op.operands) {
      const Tensor& tensor = graph.at(base_of(graph, operand.tensor));
      if (reads(operand.access) && tensor.kind == TensorKind::kActivation) names.insert(tensor.name);
    }
  }
  return names;
}

}  // namespace

TEST_CASE("beside a frozen model only adapters have gradients, sums and moments, and clipping counts them alone") {
  for (const Family family : {Family::kGpt2, Family::kLlama, Family::kQwen3, Family::kPhi}) {
    for (const std::int64_t accumulate : {1, 2}) {
      const Graph graph = graph_beside(family, adapter_targets(small_model(family)), accumulate);
      for (const Tensor& tensor : graph.tensors) {
        if (tensor.group.valid() && tensor.kind != TensorKind::kParameter) CHECK_FALSE(graph.parameters.at(tensor.group).frozen);
      }
      CHECK(count(graph, OpKind::kEmbeddingBackward, Phase::kBackward, -1) == 0);
      CHECK(count(graph, OpKind::kSquaredNorm, Phase::kOptimizer, -1) == 3);
    }
  }
}

TEST_CASE("backward ends below the lowest adapter") {
  const Graph down = graph_beside(Family::kLlama, {Target::kDown});
  CHECK(count(down, OpKind::kAttentionBackward, Phase::kBackward, 0) == 0);
  CHECK(count(down, OpKind::kAttentionBackward, Phase::kBackward, 1) == 1);
  CHECK(count(down, OpKind::kLinearBackwardInput, Phase::kBackward, 0) == 1);  // dy B alone
  const Graph query = graph_beside(Family::kLlama, {Target::kQuery});
  CHECK(count(query, OpKind::kAttentionBackward, Phase::kBackward, 0) == 1);
  CHECK(count(query, OpKind::kNormBackward, Phase::kBackward, 0) ==
        1);  // of the feed-forward layer; the first norm's is not needed
  CHECK(count(query, OpKind::kNormBackward, Phase::kBackward, 1) == 2);
}

TEST_CASE("what only a frozen weight's gradient would read is not kept") {
  // Adapters beside the output projection: of the inputs of the four linear layers only its own is read again.
  const std::set<std::string> saved = saved_by(graph_beside(Family::kLlama, {Target::kOutput}), 1);
  CHECK(saved.count("attention") == 1);
  CHECK(saved.count("middle of adapter o") == 1);
  CHECK(saved.count("norm 1") == 0);
  CHECK(saved.count("norm 2") == 0);
  CHECK(saved.count("ffn activation") == 0);
  CHECK(saved.count("ffn in") == 1);  // the activation's gradient needs it
}

TEST_CASE("adapters of parts of a fused weight work on their own columns") {
  const Graph graph = graph_beside(Family::kLlama, {Target::kQuery, Target::kKey, Target::kValue});
  std::vector<std::int64_t> offsets;
  for (const Op& op : graph.ops) {
    if (op.kind != OpKind::kLinear || op.block != 0 || op.operands.back().access != Access::kReadWrite) continue;
    offsets.push_back(graph.at(op.operands.back().tensor).view_offset);
    CHECK(op.shape.stride == 64);  // 4 query heads, 2 key and 2 value heads of 8
    CHECK(op.shape.constant == 2);
  }
  CHECK(offsets == std::vector<std::int64_t>{0, 32, 48});
}

}  // namespace plimsoll::test
