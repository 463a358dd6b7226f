#include <catch2/catch.hpp>

#include <algorithm>

#include "core/graph/buildable.h"
#include "core/graph/graph.h"
#include "core/graph/op_work.h"
#include "tests/support/small_models.h"

using namespace plimsoll;

namespace {

Graph graph_of(Family family, Precision precision = Precision::kFp32) {
  return build_training_graph(test::small_model(family, 2), {.precision = precision, .micro_batch = 2, .sequence = 16});
}

std::int64_t count(const Graph& graph, OpKind kind) {
  return std::count_if(graph.ops.begin(), graph.ops.end(), [&](const Op& op) { return op.kind == kind; });
}

}  // namespace

TEST_CASE("every decoder's step writes each parameter's gradient once") {
  for (const Family family : {Family::kOpt, Family::kBloom, Family::kGptNeoX, Family::kGptJ, Family::kFalcon, Family::kMpt,
                              Family::kPalm, Family::kStableLm, Family::kPhi3, Family::kQwen}) {
    const Graph graph = graph_of(family);
    CAPTURE(to_text(family));
    std::vector<std::int64_t> written(graph.parameters.groups.size());
    for (const Op& op : graph.ops) {
      for (const Operand& operand : op.operands) {
        const Tensor& tensor = graph.at(operand.tensor);
        if (tensor.kind == TensorKind::kGradient && operand.access == Access::kWrite) written[tensor.group.index] += tensor.elements;
      }
    }
    for (std::size_t g = 0; g < written.size(); ++g) CHECK(written[g] == graph.parameters.groups[g].elements);
  }
}

TEST_CASE("the second norm of a parallel block reads what the first reads") {
  const Graph graph = graph_of(Family::kGptNeoX);
  std::vector<TensorId> read;
  for (const Op& op : graph.ops) {
    if (op.kind == OpKind::kNorm && op.block == 0) read.push_back(op.operands[0].tensor);
  }
  REQUIRE(read.size() == 2);
  CHECK(read[0] == read[1]);
  CHECK(count(graph, OpKind::kNorm) == 5);          // two a block and the last
  CHECK(count(graph_of(Family::kGptJ), OpKind::kNorm) == 3);
}

TEST_CASE("only blocks that see all have the stretched rotation and its base where those with a window have their own") {
  ModelSpec spec = test::small_model(Family::kGemma3, 2);  // the second block sees all
  spec.rope_theta = 1e6;
  spec.rope_scaling = {.kind = RopeScalingKind::kLinear, .factor = 8};
  for (const bool own : {true, false}) {
    if (!own) spec.local_rope_theta = 0;
    const Graph graph = build_training_graph(spec, {.micro_batch = 2, .sequence = 16});
    CHECK(count(graph, OpKind::kRope) == 2);
    for (const Op& op : graph.ops) {
      if (op.kind != OpKind::kRope && op.kind != OpKind::kRopeBackward) continue;
      const bool local = own && op.block == 0;
      CHECK(op.shape.variant == (local ? 1 : 0));
      CHECK(op.shape.constant == (local ? 1e4 : 1e6));
    }
  }
}

TEST_CASE("attention with ALiBi costs what causal attention costs, and rotates nothing") {
  const Graph alibi = graph_of(Family::kBloom);
  CHECK(count(alibi, OpKind::kRope) == 0);
  const auto attention = std::find_if(alibi.ops.begin(), alibi.ops.end(), [](const Op& op) { return op.kind == OpKind::kAttention; });
  REQUIRE(attention->shape.variant == static_cast<std::uint8_t>(AttentionKind::kCausalAlibi));
  OpShape causal = attention->shape;
  causal.variant = static_cast<std::uint8_t>(AttentionKind::kCausal);
  CHECK(flops_of(OpKind::kAttention, causal) == flops_of(OpKind::kAttention, attention->shape));
}

TEST_CASE("in tf32 matrix products alone have that type, and every tensor is as in fp32") {
  const Graph tf32 = graph_of(Family::kLlama, Precision::kTf32), fp32 = graph_of(Family::kLlama);
  REQUIRE(tf32.ops.size() == fp32.ops.size());
  for (std::size_t i = 0; i < tf32.ops.size(); ++i) {
    CHECK(tf32.ops[i].dtype == (is_product(tf32.ops[i].kind) ? DType::kTf32 : DType::kFp32));
  }
  for (std::size_t i = 0; i < tf32.tensors.size(); ++i) CHECK(tf32.tensors[i].bytes() == fp32.tensors[i].bytes());
}

TEST_CASE("what has no kernels of ours is refused with the stack that can simulate it") {
  ModelSpec t5 = test::small_model(Family::kT5);
  t5.decoder_layers = 2;
  ModelSpec narrow = test::small_model(Family::kOpt);
  narrow.embedding_width = 8;
  ModelSpec net = family_defaults(Family::kConvNet);
  net.conv = {.kind = ConvNetKind::kResNet, .depths = {2, 2, 2, 2}};
  for (const ModelSpec& spec : {t5, narrow, net}) {
    const auto buildable = check_buildable(spec, {});
    REQUIRE_FALSE(buildable);
    CHECK_THAT(buildable.error().remedy, Catch::Contains("--stack pytorch"));
  }
  CHECK(check_buildable(test::small_model(Family::kGptNeoX), {}));
  const Recipe adapted{.optimizer = OptimizerKind::kMuon, .adapter = {.rank = 4}};
  CHECK_THAT(check_buildable(test::small_model(Family::kLlama), adapted).error().text(), Catch::Contains("muon"));
}
