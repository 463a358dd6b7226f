#include "core/plan/operand_sizes.h"

#include <catch2/catch.hpp>

#include <set>

#include "core/graph/graph.h"
#include "tests/support/small_models.h"

namespace plimsoll::test {
namespace {

/// The operands of an op as a plan's launch would use them.
std::vector<Use> uses_of(const Graph& graph, const Op& op) {
  std::vector<Use> uses;
  for (const Operand& operand : op.operands)
    uses.push_back({.access = operand.access, .bytes = graph.at(operand.tensor).bytes()});
  return uses;
}

std::optional<std::string> flaw_of(const Graph& graph, const Op& op, const std::vector<Use>& uses) {
  return find_size_flaw({op.kind, op.dtype, op.shape}, uses, kNoGuard, {.spec = graph.spec, .recipe = graph.recipe});
}

/// Every op of a training and an evaluation of `spec` has operands of the right size; one byte less and it has not.
void check_graphs(const ModelSpec& spec, const Recipe& recipe, std::set<OpKind>& seen) {
  if (!validate(spec) || !validate(recipe, spec)) return;
  for (const bool evaluation : {false, true}) {
    const Graph graph = build_training_graph(spec, recipe, {.workers = 1, .evaluation = evaluation});
    for (const Op& op : graph.ops) {
      seen.insert(op.kind);
      std::vector<Use> uses = uses_of(graph, op);
      INFO(spec.name << ", " << to_text(recipe.precision) << ", " << to_text(recipe.optimizer) << ": "
                     << to_text(op.kind));
      const auto flaw = flaw_of(graph, op, uses);
      CHECK(flaw.value_or("") == "");
      if (op.dtype != DType::kFp32)
        continue;  // where sums and states may be wider, a shorter one may be a narrower one
      for (std::size_t i = 0; i < uses.size(); ++i) {
        INFO("operand " << i);
        // Updates read the factor alone of what the clip factor's kernel wrote.
        if (is_update(op.kind) && graph.at(op.operands[i].tensor).kind == TensorKind::kScalar) continue;
        uses[i].bytes -= Bytes(1);
        CHECK(flaw_of(graph, op, uses).has_value());
        uses[i].bytes += Bytes(1);
      }
      uses.push_back({});
      CHECK(flaw_of(graph, op, uses).has_value());
    }
  }
}

std::vector<ModelSpec> models() {
  std::vector<ModelSpec> all;
  for (int family = 0; family <= static_cast<int>(Family::kVit); ++family)
    all.push_back(small_model(static_cast<Family>(family), 2));
  for (const GatingKind gating : {GatingKind::kSwitch, GatingKind::kGShard, GatingKind::kNoisy}) {
    ModelSpec spec = small_model(Family::kGpt2, 2);
    spec.experts = gating_defaults(gating);
    spec.experts.count = 4;
    spec.experts.dropout = 0.1;
    all.push_back(spec);
  }
  all.push_back(with_classes(small_model(Family::kBert, 2), 3));
  return all;
}

}  // namespace

TEST_CASE("a kernel's operands are as long as the graph makes them, to the byte, and one byte less is refused") {
  std::set<OpKind> seen;
  for (const ModelSpec& spec : models()) {
    for (const OptimizerKind optimizer :
         {OptimizerKind::kSgd, OptimizerKind::kMomentum, OptimizerKind::kAdam, OptimizerKind::kAdamW,
          OptimizerKind::kLion, OptimizerKind::kAdam8bit, OptimizerKind::kAdafactor, OptimizerKind::kSm3,
          OptimizerKind::kLamb, OptimizerKind::kLars, OptimizerKind::kMuon}) {
      for (const Precision precision :
           {Precision::kFp32, Precision::kFp64, Precision::kBf16Mixed, Precision::kFp16Mixed}) {
        Recipe recipe = small_recipe(optimizer == OptimizerKind::kAdamW ? 2 : 1);
        recipe.optimizer = optimizer;
        recipe.precision = precision;
        recipe.clip = optimizer == OptimizerKind::kSgd ? 0 : 1;
        if (spec.reads_images()) recipe.sequence = spec.max_positions;
        check_graphs(spec, recipe, seen);
      }
    }
  }
  CHECK(seen.size() >= 44);  // all but LoRA's dequantization and the like, which other cases hold
}

TEST_CASE("adapters beside frozen, encoded matrices have operands of the right size") {
  std::set<OpKind> seen;
  for (const BaseStorage storage : {BaseStorage::kCompute, BaseStorage::kInt8, BaseStorage::kNf4}) {
    Recipe recipe = small_recipe();
    recipe.adapter.rank = 4;
    recipe.adapter.alpha = 8;
    recipe.adapter.targets = {AdapterTarget::kQuery, AdapterTarget::kValue};
    recipe.adapter.base = storage;
    check_graphs(small_model(Family::kLlama, 2), recipe, seen);
  }
  CHECK(seen.count(OpKind::kDequantize) == 1);
}

TEST_CASE("shapes that no kernel can work on are refused, however large their products are") {
  const ModelSpec spec = small_model(Family::kGpt2, 2);
  const Recipe recipe = small_recipe();
  const auto refused = [&](OpKind kind, OpShape shape, std::size_t operands) {
    const std::vector<Use> uses(operands, Use{.access = Access::kReadWrite, .bytes = Bytes(std::int64_t{1} << 59)});
    return find_size_flaw({kind, DType::kFp32, shape}, uses, kNoGuard, {.spec = spec, .recipe = recipe}).has_value();
  };
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  CHECK(refused(OpKind::kAdd, {.rows = kMost, .inputs = kMost}, 3));
  CHECK(refused(OpKind::kAdd, {.rows = 4, .inputs = 0}, 3));
  CHECK(refused(OpKind::kLinear, {.rows = kMost, .inputs = kMost, .outputs = kMost}, 3));
  CHECK(refused(OpKind::kLinear, {.rows = 2, .inputs = 2, .outputs = 8, .stride = 4}, 3));
  CHECK(refused(OpKind::kEmbedding, {.rows = 4, .inputs = 2, .outputs = 2, .sequence = 0}, 3));
  CHECK(refused(OpKind::kEmbedding, {.rows = 5, .inputs = 2, .outputs = 2, .sequence = 2}, 3));
  CHECK(refused(OpKind::kAttention, {.rows = 4, .sequence = 2, .heads = 3, .kv_heads = 2, .head_dim = 2}, 4));
  CHECK(refused(OpKind::kAttention,
                {.rows = kMost, .sequence = kMost, .heads = kMost, .kv_heads = 1, .head_dim = kMost}, 4));
  const OpShape step{.rows = 4, .sequence = 2, .heads = 2, .kv_heads = 2, .head_dim = 2,
                     .variant = static_cast<std::uint8_t>(AttentionKind::kPadded)};  // it would take keys for extents
  CHECK(refused(OpKind::kAttentionStep, step, 5));
  CHECK(refused(OpKind::kEmbedding,  // the third sequence position is the table's fifth
                {.rows = 3, .inputs = 2, .outputs = 2, .sequence = 3, .positions = 4, .stride = 2}, 4));
  CHECK(refused(OpKind::kEmbedding, {.rows = 3, .inputs = 2, .outputs = 2, .sequence = 3, .positions = 4, .stride = -1}, 4));
  CHECK(refused(OpKind::kDispatch, {.rows = 4, .inputs = 2, .experts = 4, .choices = 8, .groups = 1}, 3));
  CHECK(refused(OpKind::kRope, {.rows = 4, .inputs = 64, .sequence = 2, .heads = 2, .kv_heads = 1, .head_dim = 2}, 1));
  CHECK(refused(OpKind::kAdamW, {.rows = -1}, 5));
}

TEST_CASE("a mixture's shape is of all experts, or of those of one of the ranks that share them where the kernel passes them") {
  ModelSpec spec = small_model(Family::kGpt2, 2);
  spec.experts = gating_defaults(GatingKind::kTopK);
  spec.experts.count = 4;
  const Recipe recipe = small_recipe();
  const auto taken = [&](OpKind kind, OpShape shape, std::size_t operands) {
    const std::vector<Use> uses(operands, Use{.access = Access::kReadWrite, .bytes = Bytes(std::int64_t{1} << 40)});
    return !find_size_flaw({kind, DType::kFp32, shape}, uses, kNoGuard, {.spec = spec, .recipe = recipe}).has_value();
  };
  OpShape all{.rows = 4, .inputs = 2, .outputs = 2, .experts = 4, .choices = 3, .groups = 1};
  all.variant = static_cast<std::uint8_t>(GatingKind::kTopK);
  OpShape own = all;
  own.experts = 2;
  own.terms = 2;
  CHECK(taken(OpKind::kExpertLinear, own, 4));
  CHECK(taken(OpKind::kExpertLinear, all, 4));
  // A token has no third choice of two experts.
  for (const auto& [kind, operands] : {std::pair(OpKind::kRouter, 6), {OpKind::kDispatch, 3}, {OpKind::kCombine, 4}}) {
    INFO(to_text(kind));
    CHECK(taken(kind, all, static_cast<std::size_t>(operands)));
    CHECK_FALSE(taken(kind, own, static_cast<std::size_t>(operands)));
  }
  OpShape shares = all;
  shares.terms = 2;
  shares.inputs = 1;
  CHECK(taken(OpKind::kShareRouting, shares, 3));
  for (const auto& [ranks, own_place] : {std::pair(2, 2), {3, 1}, {0, 0}}) {  // no such rank; of one and a third; of none
    shares.terms = ranks;
    shares.inputs = own_place;
    CHECK_FALSE(taken(OpKind::kShareRouting, shares, 3));
  }
}

}  // namespace plimsoll::test
