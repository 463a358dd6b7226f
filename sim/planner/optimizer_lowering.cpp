// The part of StepLowering that moves gradients and updates weights.
#include <fmt/format.h>

#include "sim/planner/step_lowering.h"

namespace plimsoll {

void StepLowering::gradient_complete(GroupId group, std::uint32_t micro_batch) {
  if (plan_.strategy.gradients == Tier::kDevice) return;
  BufferId& gradient = current_[own_gradients_[group.index].index];
  const BufferId arrived = fetch_to_host(gradient);
  rotate(leaving_gradients_, gradient);
  if (graph_.recipe.accumulate == 1) {
    gradient = arrived;
    return;
  }
  BufferId& sum = current_[summed_gradients_[group.index].index];
  if (!sum.valid()) sum = make_buffer(graph_.at(summed_gradients_[group.index]), places_.host);
  const Kernel add{OpKind::kAccumulate, compute_dtype(graph_.recipe.precision), {.rows = graph_.parameters.at(group).elements}};
  out_.launch(places_.cpu, add,
              {{out_.whole(arrived), Access::kRead}, {out_.whole(sum), micro_batch == 0 ? Access::kWrite : Access::kReadWrite}});
  rotate(arriving_gradients_, arrived);
}

void StepLowering::gradients_to_host() {
  const ParameterLayout& layout = graph_.parameters;
  for (std::size_t i = layout.groups.size(); i-- > 0;) {
    const GroupId group(i);
    out_.begin_segment("gradient to host", 0, layout.at(group).block);
    out_.set_phase(Phase::kOptimizer);
    BufferId& sum = current_[summed_gradients_[group.index].index];
    sum = fetch_to_host(sum);
  }
}

void StepLowering::write_optimizer() {
  if (optimizer_on_host() && plan_.strategy.gradients == Tier::kDevice) gradients_to_host();
  bool norms = false;
  for (const Op& op : graph_.ops) {
    if (op.phase != Phase::kOptimizer) continue;
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

void StepLowering::update_on_host(GroupId group, const Op& adamw) {
  const GroupState& state = state_[group.index];
  const bool on_ssd = plan_.strategy.optimizer == Tier::kSsd;
  const bool mixed = has_master_copy(plan_.recipe.precision);
  const BufferId stored[] = {state.master, state.first_moment, state.second_moment};
  std::vector<std::pair<Range, Access>> operands;
  for (const BufferId buffer : stored) {
    BufferId working = buffer;
    if (on_ssd) {
      const Buffer on_disk = plan_.at(buffer);
      working = book_.add({.name = on_disk.name + ", staged", .space = places_.host, .bytes = on_disk.bytes,
                           .category = on_disk.category});
      out_.copy(*places_.ssd_read, InstructionKind::kRead, out_.whole(buffer), out_.whole(working));
    }
    operands.emplace_back(out_.whole(working), Access::kReadWrite);
  }
  operands.emplace_back(out_.whole(current_[summed_gradients_[group.index].index]), Access::kRead);
  if (clip_factor_.valid()) operands.emplace_back(out_.whole(clip_factor_), Access::kRead);
  BufferId weights = operands[0].first.buffer;
  if (mixed) {
    const Buffer stored_weights = plan_.at(state.parameters);
    weights = plan_.strategy.parameters == Tier::kHost
                  ? state.parameters
                  : book_.add({.name = "new " + stored_weights.name, .space = places_.host, .bytes = stored_weights.bytes,
                               .category = TensorKind::kParameter});
    operands.emplace_back(out_.whole(weights), Access::kWrite);
  }
  out_.launch(places_.cpu, {adamw.kind, adamw.dtype, adamw.shape}, operands);
  publish_weights(group, weights);
  if (!on_ssd) return;
  for (std::size_t i = 0; i < 3; ++i) {
    out_.copy(*places_.ssd_write, InstructionKind::kWrite, operands[i].first, out_.whole(stored[i]));
  }
  const std::int64_t groups_in_flight = 3 * plan_.strategy.staging_slots;
  for (std::size_t i = 0; i < 3; ++i) arriving_states_.push_back(operands[i].first.buffer);
  while (static_cast<std::int64_t>(arriving_states_.size()) > groups_in_flight) arriving_states_.pop_front();
  for (const BufferId buffer : arriving_states_) book_.touch(buffer, out_.next_id() - 1);
}

}  // namespace plimsoll
