// The part of StepLowering that updates weights.
#include "sim/planner/step_lowering.h"

namespace plimsoll {

void StepLowering::write_optimizer() {
  if (optimizer_on_host() && plan_.strategy.gradients == Tier::kDevice) gradients_to_host();
  bool norms = false;
  for (const Op& op : graph_.ops) {
    if (op.phase != Phase::kOptimizer || done_with_gradient(op)) continue;
    const bool updates = op.kind == OpKind::kAdamW;
    if (updates || !norms) out_.begin_segment(updates ? "update" : "gradient norm", 0, op.block);
    norms = !updates;
    out_.set_phase(Phase::kOptimizer);
    if (updates && optimizer_on_host()) {
      update_on_host(graph_.at(op.operands[1].tensor).group, op);
    } else {
      write_op(op, 0);
    }
  }
}

bool StepLowering::done_with_gradient(const Op& op) const {
  return op.kind == OpKind::kAccumulate || (op.kind == OpKind::kSquaredNorm && plan_.strategy.gradients != Tier::kDevice);
}

void StepLowering::publish_weights(GroupId group, BufferId weights) {
  const BufferId stored = state_[group.index].parameters;
  const bool already_there = weights == stored || stored == state_[group.index].master;
  if (already_there) return;
  if (plan_.strategy.parameters == Tier::kDevice) {
    out_.copy(places_.h2d, InstructionKind::kCopy, out_.whole(weights), out_.whole(stored));
  } else {
    out_.copy(*places_.ssd_write, InstructionKind::kWrite, out_.whole(weights), out_.whole(stored));
  }
  if (weights != state_[group.index].master) rotate(leaving_weights_, weights);
}

std::vector<BufferId> StepLowering::stage_states(GroupId group) {
  const GroupState& state = state_[group.index];
  std::vector<BufferId> staged;
  for (const BufferId buffer : {state.master, state.first_moment, state.second_moment}) {
    staged.push_back(buffer);
    if (plan_.strategy.optimizer != Tier::kSsd) continue;
    const Buffer on_disk = plan_.at(buffer);
    staged.back() = book_.add({.name = on_disk.name + ", staged", .space = places_.host, .bytes = on_disk.bytes,
                               .category = on_disk.category});
    out_.copy(*places_.ssd_read, InstructionKind::kRead, out_.whole(buffer), out_.whole(staged.back()));
  }
  return staged;
}

void StepLowering::unstage(GroupId group, const std::vector<BufferId>& states) {
  const GroupState& state = state_[group.index];
  const BufferId stored[] = {state.master, state.first_moment, state.second_moment};
  std::vector<BufferId> staged;
  if (plan_.strategy.optimizer == Tier::kSsd) {
    staged = states;
    for (std::size_t i = 0; i < 3; ++i) {
      out_.copy(*places_.ssd_write, InstructionKind::kWrite, out_.whole(states[i]), out_.whole(stored[i]));
    }
  }
  if (plan_.strategy.gradients == Tier::kSsd) staged.push_back(holder(summed_gradients_[group.index], 0));
  const auto in_flight = staged.size() * static_cast<std::size_t>(plan_.strategy.staging_slots);
  arriving_states_.insert(arriving_states_.end(), staged.begin(), staged.end());
  while (arriving_states_.size() > in_flight) arriving_states_.pop_front();
  for (const BufferId buffer : arriving_states_) book_.touch(buffer, out_.next_id() - 1);
}

void StepLowering::update_on_host(GroupId group, const Op& adamw) {
  const GroupState& state = state_[group.index];
  const std::vector<BufferId> states = stage_states(group);
  std::vector<std::pair<Range, Access>> operands;
  for (const BufferId buffer : states) operands.emplace_back(out_.whole(buffer), Access::kReadWrite);
  const TensorId gradient = summed_gradients_[group.index];
  bring_to_host(gradient);
  operands.emplace_back(out_.whole(holder(gradient, 0)), Access::kRead);
  if (clip_factor_.valid()) operands.emplace_back(out_.whole(clip_factor_), Access::kRead);
  BufferId weights = states[0];
  if (has_master_copy(plan_.recipe.precision)) {
    const Buffer stored_weights = plan_.at(state.parameters);
    weights = plan_.strategy.parameters == Tier::kHost
                  ? state.parameters
                  : book_.add({.name = "new " + stored_weights.name, .space = places_.host, .bytes = stored_weights.bytes,
                               .category = TensorKind::kParameter});
    operands.emplace_back(out_.whole(weights), Access::kWrite);
  }
  out_.launch(places_.cpu, {adamw.kind, adamw.dtype, adamw.shape}, operands);
  publish_weights(group, weights);
  unstage(group, states);
}

}  // namespace plimsoll
