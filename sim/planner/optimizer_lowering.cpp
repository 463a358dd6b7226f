// The part of StepLowering that updates weights.
#include "sim/planner/check_shares.h"
#include "sim/planner/step_lowering.h"

namespace plimsoll {

void StepLowering::write_optimizer() {
  if (plan_.strategy.update_in_backward) return finish_updates();
  const bool leave_now = optimizer_on_host() && plan_.strategy.gradients == Tier::kDevice;
  for (std::size_t i = outline_.summed_gradients.size(); leave_now && i-- > 0;) {
    if (outline_.summed_gradients[i].valid() && updated_on_host(GroupId(i))) sum_to_host(outline_.summed_gradients[i]);
  }
  if (!updates_ahead()) start_updates(out_.next_id());
  bool norms = false;
  for (const Op& op : graph_.ops) {
    if (op.phase != Phase::kOptimizer || done_with_gradient(op)) continue;
    const bool updates = is_update(op.kind);
    if (updates && updates_ahead()) continue;
    const GroupId group = graph_.at(op.operands[0].tensor).group;
    if (updates && &op != outline_.update_ops[group.index].front()) continue;  // done with the group's first kernel
    if (updates || !norms) out_.begin_segment(updates ? "update" : "gradient norm", 0, op.block);
    norms = !updates;
    out_.set_phase(Phase::kOptimizer);
    if (updates) {
      update_group(group, true);
    } else {
      write_op(op, 0);
    }
  }
}

bool StepLowering::done_with_gradient(const Op& op) const {
  const TensorId gradient = op.operands[0].tensor;
  return op.kind == OpKind::kAccumulate || (op.kind == OpKind::kSquaredNorm && gradient_tier(gradient) != Tier::kDevice);
}

bool StepLowering::updated_on_host(GroupId group) const {
  return !updated_by_device(plan_.strategy, graph_.parameters.at(group).block);
}

void StepLowering::share_clip_factor() {
  if (!optimizer_on_host() || plan_.strategy.device_state_blocks + plan_.strategy.device_update_blocks == 0) return;
  const auto on_device = [&](BufferId known) {
    const Buffer of = plan_.at(known);
    const BufferId copied = book_.add({.name = book_.name("{} on the device", of.name),
                                       .space = places_.device,
                                       .bytes = of.bytes,
                                       .category = of.category});
    out_.copy(places_.h2d, InstructionKind::kCopy, out_.whole(known), out_.whole(copied));
    return copied;
  };
  factor_on_device_ = on_device(clip_factor_);
  if (flag_.valid()) flag_on_device_ = on_device(flag_);
}

Range StepLowering::clip_factor_for(GroupId group) const {
  Range factor = out_.whole(optimizer_on_host() && !updated_on_host(group) ? factor_on_device_ : clip_factor_);
  factor.age = gradient_age();
  return factor;
}

Range StepLowering::flag() const {
  Range flag = out_.whole(flag_);
  flag.age = gradient_age();
  return flag;
}

void StepLowering::publish_weights(GroupId group, BufferId weights) {
  const BufferId stored = state_[group.index].parameters;
  const bool already_there = weights == stored || stored == state_[group.index].master;
  if (already_there) return;
  put_back(weights, stored);
  if (weights != state_[group.index].master) rotate(leaving_weights_, weights);
}

void StepLowering::start_updates(std::uint32_t earliest) {
  updates_.earliest = earliest;
  updates_.starts.clear();
  updates_.staged.clear();
}

BufferId StepLowering::updated_weights(GroupId group) {
  const BufferId stored = state_[group.index].parameters;
  if (plan_.at(stored).space == updating_space(group)) return stored;
  const Buffer of = plan_.at(stored);
  return book_.add({.name = book_.name("new {}", of.name),
                    .space = updating_space(group),
                    .bytes = of.bytes,
                    .category = TensorKind::kParameter});
}

void StepLowering::come_ahead(BufferId staged) {
  const auto slots = static_cast<std::size_t>(plan_.strategy.staging_slots);
  const std::size_t updates = updates_.starts.size();
  book_.touch(staged, updates <= slots ? updates_.earliest : updates_.starts[updates - slots]);
  updates_.staged.back().push_back(staged);
}

void StepLowering::update_group(GroupId group, bool clips) {
  if (outline_.update_ops[group.index].empty()) return;
  updates_.starts.push_back(out_.next_id());
  updates_.staged.emplace_back();
  std::vector<BufferId> stored;
  stored.reserve(state_[group.index].states.size() + 1);
  stored.push_back(state_[group.index].master);
  stored.insert(stored.end(), state_[group.index].states.begin(), state_[group.index].states.end());
  UpdatedGroup updated{.group = group, .old = {}, .made = {}, .gradient = {}, .weights = {}, .clips = clips && clip_factor_.valid()};
  take_states(stored, updated);
  updated.gradient = summed_gradient(group);
  const bool mixed = has_master_copy(plan_.recipe.precision);
  updated.weights = mixed ? updated_weights(group) : updated.old[0].buffer;
  const auto flag = update_flag();
  if (flag) out_.set_guard(flag);  // what comes before it may run ahead of the flag
  for (const Op* op : outline_.update_ops[group.index]) launch_update(*op, updated);
  if (updates_ahead()) unpublished_.emplace_back(group, updated.weights);
  else publish_weights(group, updated.weights);
  for (std::size_t i = 0; i < stored.size(); ++i) {
    if (updated.made[i] != stored[i]) put_back(updated.made[i], stored[i]);
  }
  if (flag) out_.set_guard({});
}

/// Where the weights' version before the step stays whole (they are where they are updated), so does that of every state.
void StepLowering::take_states(const std::vector<BufferId>& stored, UpdatedGroup& group) {
  const SpaceId where = updating_space(group.group);
  for (const BufferId buffer : stored) {
    const Range before = out_.before(buffer);
    const bool is_here = plan_.at(buffer).space == where;
    group.old.push_back(is_here ? before : stage(before, where));
    const bool renewed = !is_here && group.old[0].age > 0;
    group.made.push_back(renewed ? passing_buffer(buffer, "new", where) : group.old.back().buffer);
  }
}

void StepLowering::launch_update(const Op& op, const UpdatedGroup& group) {
  const bool in_place = group.old[0].age == 0;
  const bool on_host = updated_on_host(group.group);
  auto &operands = operands_, &news = news_, &rest = rest_;
  operands.clear(), news.clear(), rest.clear();
  std::size_t states = 0;
  const auto part_of = [&](const Range& of, const Operand& operand) {
    const Tensor& tensor = graph_.at(operand.tensor);
    return Range{of.buffer, of.offset + Bytes(tensor.view_offset * size_of(tensor.dtype)), tensor.bytes(), of.age};
  };
  for (const Operand& operand : op.operands) {
    const TensorKind kind = graph_.at(operand.tensor).kind;
    if (operand.access == Access::kReadWrite) {
      operands.emplace_back(part_of(group.old[states], operand), in_place ? Access::kReadWrite : Access::kRead);
      if (!in_place) news.emplace_back(part_of(out_.whole(group.made[states]), operand), Access::kWrite);
      ++states;
    } else if (kind == TensorKind::kScalar) {
      if (group.clips) {
        operands.emplace_back(clip_factor_for(group.group), Access::kRead);
      } else if (const auto guess = guessed_factor(group.group)) {
        operands.emplace_back(*guess, Access::kRead);
      }
    } else if (kind == TensorKind::kParameter) {
      rest.emplace_back(part_of(out_.whole(group.weights), operand), Access::kWrite);
    } else if (kind == TensorKind::kWorkspace) {
      rest.emplace_back(out_.whole(make_buffer(graph_.at(operand.tensor), updating_space(group.group))), Access::kWrite);
    } else {
      operands.emplace_back(part_of(group.gradient, operand), Access::kRead);
    }
  }
  operands.insert(operands.end(), news.begin(), news.end());
  operands.insert(operands.end(), rest.begin(), rest.end());
  const auto guard = out_.guard();  // the device's kernels read it there, what moves bytes and the CPU's read it on the host
  if (guard && !on_host && flag_on_device_.valid()) out_.set_guard(out_.whole(flag_on_device_));
  out_.launch(on_host ? places_.cpu : places_.compute, kernel_of(op), operands);
  out_.set_guard(guard);
}

Range StepLowering::summed_gradient(GroupId group) {
  const TensorId sum = outline_.summed_gradients[group.index];
  if (delayed()) holder(sum, 0) = waiting_.at(sum);
  if (!updated_on_host(group) && optimizer_on_host()) return gradient_on_device(sum);
  const BufferId stored = holder(sum, 0);
  if (updated_on_host(group)) bring_to_host(sum, gradient_age());
  const BufferId here = holder(sum, 0);
  if (here != stored) come_ahead(here);
  if (updates_ahead()) holder(sum, 0) = {};
  Range gradient = out_.whole(here);
  if (here == stored) gradient.age = gradient_age();
  return gradient;
}

}  // namespace plimsoll
