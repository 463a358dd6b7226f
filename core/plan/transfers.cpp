#include "core/plan/transfers.h"

namespace plimsoll {

const Link* link_of(const Plan& plan, const FlatBody& body, const Instruction& instruction) {
  const auto uses = body.uses(instruction);
  if (uses.size() < 2) return nullptr;
  const auto id = plan.platform.link(plan.at(BufferId(uses[0].target)).space, plan.at(BufferId(uses[1].target)).space);
  return id ? &plan.platform.at(*id) : nullptr;
}

}  // namespace plimsoll
