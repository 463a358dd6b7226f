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

}  // namespace plimsoll
