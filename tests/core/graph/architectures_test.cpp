#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>

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

TEST_CASE(
    "blocks of an encoder and of its decoder share two biases and one output, whose gradients are sums over the "
    "blocks") {
  const ModelSpec spec = test::small_model(Family::kT5);  // four blocks, then three
  const Graph graph = build_training_graph(spec, {.micro_batch = 2, .sequence = 16, .target_sequence = 8});
  CHECK(count(graph, OpKind::kDistanceBias) == 2);
  CHECK(count(graph, OpKind::kDistanceBiasBackward) == 2);
  CHECK(count(graph, OpKind::kBiasedAttention) == 7);
  CHECK(count(graph, OpKind::kCrossAttention) == 3);
  CHECK(count(graph, OpKind::kEmbedding) == 2);
  CHECK(count(graph, OpKind::kNorm) == 4 * 2 + 1 + 3 * 3 + 1);
  TensorId memory;
  std::vector<Access> biases, memories;
  for (const Op& op : graph.ops) {
    if (op.kind == OpKind::kBiasedAttention) {
      CHECK(is_causal(static_cast<AttentionKind>(op.shape.variant)) == (op.block >= 4));
      CHECK(op.shape.rows == (op.block < 4 ? 32 : 16));
    }
    if (op.kind == OpKind::kBiasedAttentionBackward) biases.push_back(op.operands[6].access);
    if (op.kind == OpKind::kCrossAttention) CHECK(op.shape.inputs == 16);
    if (op.block == -1 && op.kind == OpKind::kNorm && !memory.valid()) memory = op.operands[2].tensor;
    const bool of_keys = op.kind == OpKind::kLinearBackwardInput && op.block >= 4 && op.shape.rows == 32;
    if (of_keys) memories.push_back(op.operands[2].access);
  }
  constexpr Access kW = Access::kWrite, kRw = Access::kReadWrite;
  CHECK(biases == std::vector<Access>{kW, kRw, kRw, kW, kRw, kRw, kRw});
  CHECK(memories == std::vector<Access>{kW, kRw, kRw});
  const auto reads_memory = std::count_if(graph.ops.begin(), graph.ops.end(), [&](const Op& op) {
    return op.kind == OpKind::kLinear && op.operands[0].tensor == memory;
  });
  CHECK(reads_memory == 3);
}

TEST_CASE("a T5's tied output matrix has the factor of its width, an untied one none") {
  for (const bool tied : {true, false}) {
    ModelSpec spec = test::small_model(Family::kT5);  // 32 wide
    spec.tied_head = tied;
    int products = 0;
    for (const Op& op : build_training_graph(spec, {.micro_batch = 2, .sequence = 16}).ops) {
      const bool of_head = is_product(op.kind) && op.shape.outputs == spec.vocabulary;
      if (of_head) CHECK(op.shape.constant == (tied ? Approx(1 / std::sqrt(32.0)) : Approx(0)));
      products += of_head ? 1 : 0;
    }
    CHECK(products == 3);
  }
}

TEST_CASE("what has no kernels of ours is refused with the stack that can simulate it") {
  ModelSpec t5 = test::small_model(Family::kT5);
  ModelSpec biased = t5, mixture = t5, alone = t5;
  biased.qkv_bias = true;
  mixture.experts = gating_defaults(GatingKind::kSwitch);
  mixture.experts.count = 4;
  alone.decoder_layers = 0;
  CHECK(check_buildable(t5, {}));
  ModelSpec narrow = test::small_model(Family::kOpt);
  narrow.embedding_width = 8;
  ModelSpec net = family_defaults(Family::kConvNet);
  net.conv = {.kind = ConvNetKind::kResNet, .depths = {2, 2, 2, 2}};
  for (const ModelSpec& spec : {biased, mixture, alone, narrow, net}) {
    const auto buildable = check_buildable(spec, {});
    REQUIRE_FALSE(buildable);
    CHECK_THAT(buildable.error().remedy, Catch::Contains("--stack pytorch"));
  }
  CHECK(check_buildable(test::small_model(Family::kGptNeoX), {}));
  const Recipe adapted{.optimizer = OptimizerKind::kMuon, .adapter = {.rank = 4}};
  CHECK_THAT(check_buildable(test::small_model(Family::kLlama), adapted).error().text(), Catch::Contains("muon"));
}

TEST_CASE("rules that keep sums or codes are refused in pure bf16 by our own step alone, and elementwise ones and muon are not") {
  const ModelSpec spec = test::small_model(Family::kLlama);
  Recipe recipe{.precision = Precision::kBf16, .sequence = 8};
  for (const OptimizerKind kind : {OptimizerKind::kAdafactor, OptimizerKind::kAdam8bit, OptimizerKind::kLamb}) {
    recipe.optimizer = kind;
    const auto buildable = check_buildable(spec, recipe);
    REQUIRE_FALSE(buildable);
    CHECK_THAT(buildable.error().text(), Catch::Contains(std::string(to_text(kind))) && Catch::Contains("bf16-mixed"));
    CHECK(validate(recipe, spec));  // bitsandbytes and the like train so
  }
  for (const OptimizerKind kind : {OptimizerKind::kLion, OptimizerKind::kMuon}) {
    recipe.optimizer = kind;
    CHECK(check_buildable(spec, recipe));
  }
}
