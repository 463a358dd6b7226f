#include "core/parallel/two_level_gating.h"

namespace plimsoll {

Result<void> validate(const TwoLevelGating& g) {
  const bool counts = g.groups >= 1 && g.experts_per_group >= 1 && g.groups_per_token >= 1 && g.experts_per_chosen >= 1;
  if (counts && g.groups_per_token <= g.groups && g.experts_per_chosen <= g.experts_per_group) return {};
  return fail({.kind = ErrorKind::kInput,
               .what = "a token chooses at least one group and expert, and no more than there are",
               .where = {},
               .remedy = "choose fewer groups or experts a token"});
}

TwoLevelWork two_level_work(const TwoLevelGating& g, std::int64_t hidden, std::int64_t width) {
  const auto h = static_cast<double>(hidden), w = static_cast<double>(width);
  const auto groups = static_cast<double>(g.groups), all = static_cast<double>(g.experts()),
             chosen = static_cast<double>(g.experts_per_token());
  TwoLevelWork work;
  work.gate_parameters = h * (groups + all);
  work.expert_parameters = all * 2 * h * w;
  work.gate_flops = 2 * h * (groups + static_cast<double>(g.groups_per_token * g.experts_per_group));
  work.expert_flops = chosen * 4 * h * w;
  work.dispatched = 2 * h * chosen;
  work.crossing = work.dispatched * (groups - 1) / groups;
  return work;
}

}  // namespace plimsoll
