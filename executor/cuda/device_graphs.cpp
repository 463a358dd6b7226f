#include "executor/cuda/device_graphs.h"

#include <algorithm>

namespace plimsoll {
namespace {

/// An update's numbers are those of its step, and versions of a buffer lie elsewhere in the next.
bool is_alike_in_all_steps(const Plan& plan, const Program& program, const Instruction& instruction) {
  if (instruction.kind != InstructionKind::kLaunch || instruction.guard != kNoGuard) return false;
  if (is_update(plan.at(instruction.kernel).kind)) return false;
  const auto uses = program.uses_of(instruction);
  return std::all_of(uses.begin(), uses.end(), [](const PlacedUse& use) { return use.slots == 1; });
}

}  // namespace

std::vector<Stretch> find_stretches(const Plan& plan, const Program& program, const EventPlan& events) {
  std::vector<Stretch> open(plan.platform.queues.size()), found;
  const auto close = [&](Stretch& stretch) {
    if (stretch.size() >= kShortestStretch) found.push_back(stretch);
    stretch.clear();
  };
  for (std::uint32_t id = 0; id < program.body.size(); ++id) {
    const Instruction& instruction = program.body.list.instructions[id];
    if (!is_device_queue(plan.platform, instruction.queue)) continue;
    Stretch& stretch = open[instruction.queue.index];
    const bool fits = is_alike_in_all_steps(plan, program, instruction);
    if (!fits || !events.waits[id].empty()) close(stretch);
    if (fits) stretch.push_back(id);
    if (events.records[id] != 0) close(stretch);
  }
  for (Stretch& stretch : open) close(stretch);
  return found;
}

}  // namespace plimsoll
