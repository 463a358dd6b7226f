#include "core/graph/optimizer_update.h"

namespace plimsoll {
namespace {

using Kind = TensorKind;
constexpr Access kR = Access::kRead;
constexpr Access kW = Access::kWrite;
constexpr Access kRw = Access::kReadWrite;

Kind summed_gradients(const Recipe& recipe) { return recipe.accumulate > 1 ? Kind::kAccumulator : Kind::kGradient; }

/// The clip factor over all groups; an invalid id when clipping is off.
TensorId clip_factor(GraphBuilder& build) {
  const auto groups = static_cast<std::int64_t>(build.parameters().groups.size());
  if (build.recipe().clip == 0) return {};
  const TensorId partials = build.make(Kind::kScalar, groups, DType::kFp64, "squared norms");
  for (std::int64_t i = 0; i < groups; ++i) {
    const GroupId g(static_cast<std::uint32_t>(i));
    build.add(OpKind::kSquaredNorm, {.rows = build.parameters().at(g).elements},
              {{build.whole_group(summed_gradients(build.recipe()), g), kR}, {build.view(partials, i, 1), kW}});
  }
  const TensorId factor = build.make(Kind::kScalar, 2, DType::kFp64, "clip factor and norm");
  build.add(OpKind::kClipFactor, {.terms = groups}, {{partials, kR}, {factor, kW}});
  return factor;
}

void update_group(GraphBuilder& build, GroupId g, TensorId factor) {
  const bool mixed = has_master_copy(build.recipe().precision);
  const ParameterGroup& group = build.parameters().at(g);
  build.enter(Phase::kOptimizer, group.block);
  build.add(OpKind::kAdamW, {.rows = group.elements, .inputs = group.decaying_elements},
            {{build.whole_group(mixed ? Kind::kMaster : Kind::kParameter, g), kRw},
             {build.whole_group(Kind::kFirstMoment, g), kRw},
             {build.whole_group(Kind::kSecondMoment, g), kRw},
             {build.whole_group(summed_gradients(build.recipe()), g), kR},
             {factor, kR},
             {mixed ? build.whole_group(Kind::kParameter, g) : TensorId(), kW}});
}

}  // namespace

void optimizer_update(GraphBuilder& build) {
  const TensorId factor = clip_factor(build);
  for (std::uint32_t i = 0; i < build.parameters().groups.size(); ++i) update_group(build, GroupId(i), factor);
}

}  // namespace plimsoll
