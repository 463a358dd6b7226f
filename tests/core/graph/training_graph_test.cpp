#include <catch2/catch.hpp>

#include <cstdint>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/op_work.h"
#include "tests/support/small_models.h"

using namespace plimsoll;

namespace {

ModelSpec small(Family family) {
  ModelSpec spec = test::small_model(family, 3);
  if (spec.reads_images()) return spec;
  spec.vocabulary = 100;
  spec.max_positions = 16;
  return spec;
}

Graph graph_of(Family family, std::int64_t accumulate = 1, bool evaluation = false) {
  const std::int64_t sequence = family == Family::kVit ? small(family).max_positions : 16;
  return build_training_graph(small(family), {.micro_batch = 2, .accumulate = accumulate, .sequence = sequence},
                              {.evaluation = evaluation});
}

TensorId base_of(const Graph& graph, TensorId id) { return graph.at(id).view_of.valid() ? graph.at(id).view_of : id; }

bool lasts(TensorKind kind) {
  return kind == TensorKind::kParameter || kind == TensorKind::kMaster || kind == TensorKind::kFirstMoment ||
         kind == TensorKind::kSecondMoment || kind == TensorKind::kTokens || kind == TensorKind::kAccumulator;
}

}  // namespace

TEST_CASE("ops stand in a topological order: nothing is read before it is written") {
  for (const Family family : {Family::kGpt2, Family::kLlama, Family::kBert, Family::kVit}) {
    for (const std::int64_t accumulate : {1, 4}) {
      const Graph graph = graph_of(family, accumulate);
      std::vector<char> written(graph.tensors.size(), 0);
      for (const Op& op : graph.ops) {
        for (const Operand& operand : op.operands) {
          const TensorId base = base_of(graph, operand.tensor);
          if (reads(operand.access) && !lasts(graph.at(base).kind)) CHECK(written[base.index] == 1);
        }
        for (const Operand& operand : op.operands) {
          if (writes(operand.access)) written[base_of(graph, operand.tensor).index] = 1;
        }
      }
    }
  }
}

TEST_CASE("every parameter is read forward, gets a gradient once, and is updated once") {
  for (const Family family : {Family::kGpt2, Family::kLlama, Family::kBert, Family::kVit}) {
    const Graph graph = graph_of(family);
    std::vector<std::int64_t> written(graph.parameters.groups.size(), 0);
    std::vector<int> updates(graph.parameters.groups.size(), 0);
    for (const Op& op : graph.ops) {
      for (const Operand& operand : op.operands) {
        const Tensor& tensor = graph.at(operand.tensor);
        if (tensor.kind == TensorKind::kGradient && operand.access == Access::kWrite) written[tensor.group.index] += tensor.elements;
      }
      if (is_update(op.kind)) ++updates[graph.at(op.operands[1].tensor).group.index];
    }
    for (std::size_t g = 0; g < written.size(); ++g) {
      CHECK(written[g] == graph.parameters.groups[g].elements);
      CHECK(updates[g] == 1);
    }
  }
}

TEST_CASE("matrix products of a step cost six operations a matrix weight and token") {
  // Kaplan et al. 2020, section 2.1: forward 2, backward 4; the tied token table counts through the head.
  const Graph graph = graph_of(Family::kGpt2);
  double products = 0;
  for (const Op& op : graph.ops) {
    if (op.kind == OpKind::kLinear || op.kind == OpKind::kLinearBackwardInput || op.kind == OpKind::kLinearBackwardWeight) {
      products += flops_of(op.kind, op.shape);
    }
  }
  // weights: 3 · (32·96 + 32·32 + 32·64 + 64·32) + 100·32 = 3 · 8192 + 3200 = 27776; tokens: 2 · 16
  CHECK(products == 6.0 * 27776 * 32);
}

TEST_CASE("a block saves what its backward pass reads and nothing else") {
  const Graph graph = graph_of(Family::kGpt2);
  std::vector<char> saved(graph.tensors.size(), 0);
  for (const Op& op : graph.ops) {
    if (op.phase != Phase::kBackward || op.block != 1) continue;
    for (const Operand& operand : op.operands) {
      if (graph.at(operand.tensor).kind == TensorKind::kActivation && reads(operand.access)) saved[operand.tensor.index] = 1;
    }
  }
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < saved.size(); ++i) elements += saved[i] != 0 ? graph.tensors[i].elements : 0;
  const std::int64_t tokens = 32;
  // input 32 + norm1 32 + qkv 96 + attention 32 + middle 32 + norm2 32 + ffn in 64 + activation 64 + 2·2 statistics + 4 lse
  CHECK(elements == tokens * (32 + 32 + 96 + 32 + 32 + 32 + 64 + 64 + 4 + 4));
}

TEST_CASE("an evaluation graph has no backward, optimizer or gradient") {
  const Graph graph = graph_of(Family::kLlama, 1, true);
  for (const Op& op : graph.ops) CHECK(op.phase == Phase::kForward);
  for (const Tensor& tensor : graph.tensors) CHECK(tensor.kind != TensorKind::kGradient);
  CHECK(graph.ops.back().kind == OpKind::kLoss);
}

TEST_CASE("mixed precision keeps a master copy and publishes compute weights, fp32 does neither") {
  const auto operands_of_update = [](Precision precision) {
    const Graph graph = build_training_graph(small(Family::kGpt2), {.precision = precision, .sequence = 16});
    return graph.ops.back().operands.size();
  };
  CHECK(operands_of_update(Precision::kFp32) == 5);       // weights, m, v, gradient, clip factor
  CHECK(operands_of_update(Precision::kBf16Mixed) == 6);  // and the bf16 weights
}
