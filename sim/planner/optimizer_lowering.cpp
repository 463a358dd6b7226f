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
    const bool updates = op.kind == OpKind::kAdamW;
    if (updates || !norms) out_.begin_segment(updates ? "update" : "gradient norm", 0, op.block);
    norms = !updates;
    out_.set_phase(Phase::kOptimizer);
    if (updates) {
      update_group(graph_.at(op.operands[1].tensor).group, op, true);
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

void StepLowering::update_group(GroupId group, const Op& adamw, bool clips) {
  updates_.starts.push_back(out_.next_id());
  updates_.staged.emplace_back();
  const bool on_ssd = state_tier(plan_.strategy, graph_.parameters.at(group).block) == Tier::kSsd;
  const GroupState& state = state_[group.index];
  const BufferId stored[] = {state.master, state.first_moment, state.second_moment};
  std::vector<Range> old, updated;
  for (const BufferId buffer : stored) {
    old.push_back(on_ssd ? stage(buffer) : out_.before(buffer));
    updated.push_back(out_.whole(old.back().buffer));
  }
  const bool in_place = old[0].age == 0;
  std::vector<std::pair<Range, Access>> operands;
  for (const Range& range : old) operands.emplace_back(range, in_place ? Access::kReadWrite : Access::kRead);
  operands.emplace_back(out_.whole(summed_gradient(group)), Access::kRead);
  if (clips && clip_factor_.valid()) {
    operands.emplace_back(out_.whole(clip_factor_), Access::kRead);
  } else if (const auto guess = guessed_factor()) {
    operands.emplace_back(*guess, Access::kRead);
  }
  for (const Range& range : updated) {
    if (!in_place) operands.emplace_back(range, Access::kWrite);
  }
  const bool mixed = has_master_copy(plan_.recipe.precision);
  const BufferId weights = mixed ? updated_weights(group) : updated[0].buffer;
  if (mixed) operands.emplace_back(out_.whole(weights), Access::kWrite);
  const auto flag = update_flag();
  if (flag) out_.set_guard(flag);  // what comes before it may run ahead of the flag
  out_.launch(optimizer_on_host() ? places_.cpu : places_.compute, {adamw.kind, adamw.dtype, adamw.shape}, operands);
  publish_weights(group, weights);
  for (std::size_t i = 0; on_ssd && i < 3; ++i) {
    out_.copy(*places_.ssd_write, InstructionKind::kWrite, updated[i], out_.whole(stored[i]));
  }
  if (flag) out_.set_guard({});
}

BufferId StepLowering::summed_gradient(GroupId group) {
  const TensorId sum = summed_gradients_[group.index];
  const BufferId stored = holder(sum, 0);
  if (optimizer_on_host()) bring_to_host(sum);
  if (holder(sum, 0) != stored) come_ahead(holder(sum, 0));
  return holder(sum, 0);
}

}  // namespace plimsoll
