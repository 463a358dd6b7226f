// The part of StepLowering that updates weights.
#include "sim/planner/check_shares.h"
#include "sim/planner/step_lowering.h"

namespace plimsoll {

void StepLowering::write_optimizer() {
  if (plan_.strategy.update_in_backward) return finish_updates();
  const bool leave_now = optimizer_on_host() && plan_.strategy.gradients == Tier::kDevice;
  for (std::size_t i = summed_gradients_.size(); leave_now && i-- > 0;) {
    if (summed_gradients_[i].valid()) sum_to_host(summed_gradients_[i]);
  }
  start_updates(out_.next_id());
  bool norms = false;
  for (const Op& op : graph_.ops) {
    if (op.phase != Phase::kOptimizer || done_with_gradient(op)) continue;
    const bool updates = is_update(op.kind);
    const GroupId group = graph_.at(op.operands[0].tensor).group;
    if (updates && &op != update_ops_[group.index].front()) continue;  // done with the group's first kernel
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
  return op.kind == OpKind::kAccumulate || (op.kind == OpKind::kSquaredNorm && plan_.strategy.gradients != Tier::kDevice);
}

void StepLowering::publish_weights(GroupId group, BufferId weights) {
  const BufferId stored = state_[group.index].parameters;
  const bool already_there = weights == stored || stored == state_[group.index].master;
  if (already_there) return;
  if (plan_.at(stored).space == places_.device) {
    out_.copy(places_.h2d, InstructionKind::kCopy, out_.whole(weights), out_.whole(stored));
  } else {
    out_.copy(*places_.ssd_write, InstructionKind::kWrite, out_.whole(weights), out_.whole(stored));
  }
  if (weights != state_[group.index].master) rotate(leaving_weights_, weights);
}

void StepLowering::start_updates(std::uint32_t earliest) {
  updates_.earliest = earliest;
  updates_.starts.clear();
  updates_.staged.clear();
}

BufferId StepLowering::updated_weights(GroupId group) {
  const BufferId stored = state_[group.index].parameters;
  if (plan_.at(stored).space == (optimizer_on_host() ? places_.host : places_.device)) return stored;
  const Buffer of = plan_.at(stored);
  return book_.add({.name = "new " + of.name, .space = places_.host, .bytes = of.bytes, .category = TensorKind::kParameter});
}

Range StepLowering::stage(BufferId stored) {
  const Buffer on_disk = plan_.at(stored);
  const BufferId staged = book_.add({.name = on_disk.name + ", staged", .space = places_.host, .bytes = on_disk.bytes,
                                     .category = on_disk.category});
  out_.copy(*places_.ssd_read, InstructionKind::kRead, out_.before(stored), out_.whole(staged));
  come_ahead(staged);
  return out_.whole(staged);
}

void StepLowering::come_ahead(BufferId staged) {
  const auto slots = static_cast<std::size_t>(plan_.strategy.staging_slots);
  const std::size_t updates = updates_.starts.size();
  book_.touch(staged, updates <= slots ? updates_.earliest : updates_.starts[updates - slots]);
  updates_.staged.back().push_back(staged);
}

void StepLowering::update_group(GroupId group, bool clips) {
  if (update_ops_[group.index].empty()) return;
  updates_.starts.push_back(out_.next_id());
  updates_.staged.emplace_back();
  const bool on_ssd = state_tier(plan_.strategy, graph_.parameters.at(group).block) == Tier::kSsd;
  std::vector<BufferId> stored{state_[group.index].master};
  stored.insert(stored.end(), state_[group.index].states.begin(), state_[group.index].states.end());
  UpdatedGroup updated{.old = {}, .gradient = {}, .weights = {}, .clips = clips && clip_factor_.valid()};
  for (const BufferId buffer : stored) updated.old.push_back(on_ssd ? stage(buffer) : out_.before(buffer));
  updated.gradient = summed_gradient(group);
  const bool mixed = has_master_copy(plan_.recipe.precision);
  updated.weights = mixed ? updated_weights(group) : updated.old[0].buffer;
  const auto flag = update_flag();
  if (flag) out_.set_guard(flag);  // what comes before it may run ahead of the flag
  for (const Op* op : update_ops_[group.index]) launch_update(*op, updated);
  publish_weights(group, updated.weights);
  for (std::size_t i = 0; on_ssd && i < stored.size(); ++i) {
    out_.copy(*places_.ssd_write, InstructionKind::kWrite, out_.whole(updated.old[i].buffer), out_.whole(stored[i]));
  }
  if (flag) out_.set_guard({});
}

void StepLowering::launch_update(const Op& op, const UpdatedGroup& group) {
  const bool in_place = group.old[0].age == 0;
  std::vector<std::pair<Range, Access>> operands, news, rest;
  std::size_t states = 0;
  const auto part_of = [&](const Range& of, const Operand& operand) {
    const Tensor& tensor = graph_.at(operand.tensor);
    return Range{of.buffer, of.offset + Bytes(tensor.view_offset * size_of(tensor.dtype)), tensor.bytes(), of.age};
  };
  for (const Operand& operand : op.operands) {
    const TensorKind kind = graph_.at(operand.tensor).kind;
    if (operand.access == Access::kReadWrite) {
      const Range& old = group.old[states++];
      operands.emplace_back(part_of(old, operand), in_place ? Access::kReadWrite : Access::kRead);
      if (!in_place) news.emplace_back(part_of(out_.whole(old.buffer), operand), Access::kWrite);
    } else if (kind == TensorKind::kScalar) {
      if (group.clips) {
        operands.emplace_back(out_.whole(clip_factor_), Access::kRead);
      } else if (const auto guess = guessed_factor()) {
        operands.emplace_back(*guess, Access::kRead);
      }
    } else if (kind == TensorKind::kParameter) {
      rest.emplace_back(part_of(out_.whole(group.weights), operand), Access::kWrite);
    } else if (kind == TensorKind::kWorkspace) {
      const SpaceId where = optimizer_on_host() ? places_.host : places_.device;
      rest.emplace_back(out_.whole(make_buffer(graph_.at(operand.tensor), where)), Access::kWrite);
    } else {
      operands.emplace_back(part_of(out_.whole(group.gradient), operand), Access::kRead);
    }
  }
  operands.insert(operands.end(), news.begin(), news.end());
  operands.insert(operands.end(), rest.begin(), rest.end());
  out_.launch(optimizer_on_host() ? places_.cpu : places_.compute, {op.kind, op.dtype, op.shape}, operands);
}

BufferId StepLowering::summed_gradient(GroupId group) {
  const TensorId sum = summed_gradients_[group.index];
  const BufferId stored = holder(sum, 0);
  if (optimizer_on_host()) bring_to_host(sum);
  if (holder(sum, 0) != stored) come_ahead(holder(sum, 0));
  return holder(sum, 0);
}

}  // namespace plimsoll
