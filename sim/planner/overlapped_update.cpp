// The part of StepLowering that updates groups while the backward pass goes on.
//
// Without clipping a group's update starts when its gradient is complete. With it the factor is known only after the last
// gradient, and nearly always it is 1: each group is updated as if it were, from the version of its states that the step
// before left to this step's; if the factor turns out to be another, guarded instructions do the same once more with it.
// The version before stays whole until the step has ended.
#include <algorithm>

#include "sim/planner/step_lowering.h"

namespace plimsoll {

void StepLowering::update_in_backward(TensorId sum) {
  const GroupId group = graph_.at(sum).group;
  if (!group.valid()) return;  // a tied head's part of the embedding's gradient
  const bool on_device = gradient_tier(sum) == Tier::kDevice;
  if (on_device && updated_on_host(group)) sum_to_host(sum);
  out_.begin_segment("update in backward", micro_batches() - 1, graph_.at(sum).block);
  out_.set_phase(Phase::kOptimizer);
  if (on_device) work_on_sum(sum, OpKind::kSquaredNorm, updated_on_host(group) ? places_.host : places_.device);
  const bool norm_is_known = group == graph_.parameters.last_trained();  // the last gradient: a guess would gain nothing
  if (!awaits_norm(graph_.recipe) || !norm_is_known) update_group(group, false);
}

void StepLowering::finish_updates() {
  const auto clip =
      std::find_if(graph_.ops.begin(), graph_.ops.end(), [](const Op& op) { return op.kind == OpKind::kClipFactor; });
  if (clip == graph_.ops.end()) return;
  const GroupId last = graph_.parameters.last_trained();
  out_.begin_segment("clip", 0, -1);
  out_.set_phase(Phase::kOptimizer);
  write_op(*clip, 0);
  update_group(last, true);
  const std::vector<std::vector<BufferId>> staged = updates_.staged;
  redo_updates();
  // What is still being written keeps its memory, so that the next step need not wait for it when nothing is redone.
  const auto slots = std::min(staged.size(), static_cast<std::size_t>(plan_.strategy.staging_slots));
  for (std::size_t i = staged.size() - slots; i < staged.size(); ++i) {
    for (const BufferId buffer : staged[i]) book_.touch(buffer, out_.next_id() - 1);
  }
}

/// States on the SSD are redone in the order in which they were written, so that a redo that is skipped waits for no write
/// that is still under way; others in the order in which the next step needs the weights.
void StepLowering::redo_updates() {
  std::vector<GroupId> groups;
  for (std::size_t i = 0; i < graph_.parameters.groups.size(); ++i) {
    if (GroupId(i) != graph_.parameters.last_trained() && !graph_.parameters.groups[i].frozen) groups.emplace_back(i);
  }
  if (plan_.strategy.optimizer == Tier::kSsd) std::reverse(groups.begin(), groups.end());
  start_updates(out_.next_id());
  for (const GroupId group : groups) {
    out_.set_guard(flag());
    out_.begin_segment("redo update", 0, graph_.parameters.at(group).block);
    out_.set_phase(Phase::kOptimizer);
    update_group(group, true);
  }
  out_.set_guard({});
}

}  // namespace plimsoll
