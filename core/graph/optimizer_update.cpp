#include "core/graph/optimizer_update.h"

#include <vector>

namespace plimsoll {
namespace {

using Kind = TensorKind;
constexpr Access kR = Access::kRead;
constexpr Access kW = Access::kWrite;
constexpr Access kRw = Access::kReadWrite;

Kind summed_gradients(const Recipe& recipe) { return recipe.accumulate > 1 ? Kind::kAccumulator : Kind::kGradient; }

std::vector<GroupId> trained_groups(const ParameterLayout& layout) {
  std::vector<GroupId> groups;
  for (std::size_t i = 0; i < layout.groups.size(); ++i) {
    if (!layout.groups[i].frozen) groups.emplace_back(i);
  }
  return groups;
}

/// The factor of all gradients that are taken, by which they are clipped and unscaled; an invalid id when neither is wanted.
TensorId clip_factor(GraphBuilder& build, const std::vector<GroupId>& groups) {
  if (!awaits_norm(build.recipe())) return {};
  const auto terms = static_cast<std::int64_t>(groups.size());
  const TensorId partials = build.make(Kind::kScalar, terms, DType::kFp64, "squared norms");
  for (std::int64_t i = 0; i < terms; ++i) {
    const GroupId g = groups[static_cast<std::size_t>(i)];
    build.add(OpKind::kSquaredNorm, {.rows = build.parameters().at(g).elements},
              {{build.whole_group(summed_gradients(build.recipe()), g), kR}, {build.view(partials, i, 1), kW}});
  }
  const TensorId scale = build.loss_scale();
  const std::int64_t numbers = scale.valid() ? kScaledFactorDoubles : 2;
  const TensorId factor = build.make(Kind::kScalar, numbers, DType::kFp64, "clip factor and norm");
  build.add(OpKind::kClipFactor, {.terms = terms}, {{partials, kR}, {factor, kW}, {scale, kRw}});
  return factor;
}

void update_part(GraphBuilder& build, GroupId g, const UpdatePart& part, TensorId factor) {
  const Precision precision = build.recipe().precision;
  const auto elements = [&](Kind kind, DType dtype) {
    return build.part(build.whole_group(kind, g), part.offset, part.elements, dtype);
  };
  const bool mixed = has_master_copy(precision);
  const Kind gradients = summed_gradients(build.recipe());
  std::vector<Operand> operands{{elements(mixed ? Kind::kMaster : Kind::kParameter, state_dtype(precision)), kRw}};
  for (const StateRange& state : part.states) {
    operands.push_back({build.part(build.whole_group(state.kind, g), state.offset, state.elements, state.dtype), kRw});
  }
  operands.push_back({elements(gradients, gradients == Kind::kGradient ? compute_dtype(precision) : sum_dtype(precision)), kR});
  operands.push_back({factor, kR});
  if (mixed) operands.push_back({elements(Kind::kParameter, compute_dtype(precision)), kW});
  build.add_with_workspace(part.kind, part.shape, operands);
}

void update_group(GraphBuilder& build, GroupId g, TensorId factor) {
  const ParameterGroup& group = build.parameters().at(g);
  build.enter(Phase::kOptimizer, group.block);
  for (const UpdatePart& part : update_parts(build.recipe(), group)) update_part(build, g, part, factor);
}

}  // namespace

void optimizer_update(GraphBuilder& build) {
  const std::vector<GroupId> groups = trained_groups(build.parameters());
  const TensorId factor = clip_factor(build, groups);
  for (const GroupId group : groups) update_group(build, group, factor);
}

}  // namespace plimsoll
