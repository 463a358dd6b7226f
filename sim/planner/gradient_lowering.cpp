// The part of StepLowering that sums gradients over micro-batches and moves them to where the optimizer reads them.
#include <algorithm>

#include "sim/planner/check_shares.h"
#include "sim/planner/step_lowering.h"

namespace plimsoll {

Tier StepLowering::gradient_tier(TensorId sum) const {
  const GroupId group = graph_.at(sum).group;
  if (!group.valid() || updated_on_host(group)) return plan_.strategy.gradients;
  const bool states_are_here = state_tier(plan_.strategy, graph_.parameters.at(group).block) == Tier::kDevice;
  const bool summed_at_once = micro_batches() == 1 || plan_.strategy.loop_order == LoopOrder::kBreadthFirst;
  const bool used_up_at_once = plan_.strategy.update_in_backward && summed_at_once && !awaits_norm(graph_.recipe);
  return states_are_here || used_up_at_once ? Tier::kDevice : plan_.strategy.gradients;
}

void StepLowering::norm_from_device(const Op& op) {
  const BufferId norm = book_.add({.name = "squared norm", .space = places_.device, .bytes = Bytes(size_of(DType::kFp64)),
                                   .category = TensorKind::kScalar});
  out_.launch(places_.compute, {op.kind, op.dtype, op.shape},
              {{range_of(op.operands[0], 0, places_.device), Access::kRead}, {out_.whole(norm), Access::kWrite}});
  out_.copy(places_.d2h, InstructionKind::kCopy, out_.whole(norm), range_of(op.operands[1], 0, places_.host));
}

void StepLowering::add_to_sum(const Op& op, std::uint32_t micro_batch) {
  const TensorId gradient = op.operands[0].tensor;
  const TensorId sum = op.operands[1].tensor;
  // Breadth-first order has a block's gradients of all micro-batches one after another: one sum leaves instead of each.
  const bool on_device = gradient_tier(sum) == Tier::kDevice || plan_.strategy.loop_order == LoopOrder::kBreadthFirst;
  if (on_device) return launch(op, micro_batch, places_.device);
  send_to_host(gradient, micro_batch);
  if (micro_batch > 0 && plan_.strategy.gradients == Tier::kSsd) {
    bring_to_host(sum);
    reach_back(holder(sum, micro_batch), plan_.strategy.staging_slots - 1);
  }
  launch(op, micro_batch, places_.host);
  rotate(arriving_gradients_, holder(gradient, micro_batch));
  if (micro_batch + 1 < micro_batches()) store_on_ssd(sum);
}

void StepLowering::finish_gradients(const Run& run) {
  if (together_.end < micro_batches()) return;
  for (const TensorId sum : run.completes) {
    if (gradient_tier(sum) == Tier::kDevice) {
      work_on_sum(sum, OpKind::kAccumulate, places_.device);
      if (plan_.strategy.update_in_backward) update_in_backward(sum);
      continue;
    }
    out_.begin_segment("gradient complete", together_.end - 1, run.block);
    if (leaves_for_drive(sum)) {
      work_on_sum(sum, OpKind::kSquaredNorm, places_.device);
      store_on_ssd(sum);
      continue;
    }
    const bool has_norm = send_complete_sum(sum);
    work_on_sum(sum, OpKind::kAccumulate, places_.host);
    if (!has_norm) work_on_sum(sum, OpKind::kSquaredNorm, places_.host);
    if (plan_.strategy.update_in_backward) update_in_backward(sum);
    const bool read_again = !plan_.strategy.update_in_backward || awaits_norm(graph_.recipe);
    if (read_again) store_on_ssd(sum);
  }
}

void StepLowering::work_on_sum(TensorId sum, OpKind kind, SpaceId where) {
  const auto found = outline_.once_a_step.find(sum);
  if (found == outline_.once_a_step.end()) return;
  for (const Op* op : found->second) {
    if (op->kind != kind) continue;
    if (where == places_.host) bring_to_host(op->operands[0].tensor);
    launch(*op, 0, where);
  }
}

/// What a tied head has must be added first, where the other part is; an update in the backward pass needs it at once.
bool StepLowering::leaves_for_drive(TensorId sum) {
  if (!places_.writes_directly || gradient_tier(sum) != Tier::kSsd || plan_.strategy.update_in_backward) return false;
  if (plan_.at(holder(sum, 0)).space != places_.device) return false;
  const auto found = outline_.once_a_step.find(sum);
  if (found == outline_.once_a_step.end()) return true;
  return std::none_of(found->second.begin(), found->second.end(), [](const Op* op) { return op->kind == OpKind::kAccumulate; });
}

void StepLowering::send_to_host(TensorId gradient, std::uint32_t micro_batch) {
  const BufferId on_device = holder(gradient, micro_batch);
  holder(gradient, micro_batch) = make_buffer(graph_.at(gradient), places_.host);
  out_.copy(places_.d2h, InstructionKind::kCopy, out_.whole(on_device), out_.whole(holder(gradient, micro_batch)));
  rotate(leaving_gradients_, on_device);
}

void StepLowering::bring_to_host(TensorId sum, std::uint32_t age) {
  const BufferId stored = holder(sum, 0);
  if (plan_.at(stored).space == places_.host) return;
  holder(sum, 0) = make_buffer(graph_.at(sum), places_.host);
  Range source = out_.whole(stored);
  source.age = age;
  out_.copy(*places_.ssd_read, InstructionKind::kRead, source, out_.whole(holder(sum, 0)));
}

void StepLowering::store_on_ssd(TensorId sum) {
  if (plan_.strategy.gradients != Tier::kSsd) return;
  BufferId& stored = on_ssd_[sum];
  if (!stored.valid()) stored = make_buffer(graph_.at(sum), *places_.ssd);
  const BufferId passing = holder(sum, 0);
  out_.copy(*places_.ssd_write, InstructionKind::kWrite, out_.whole(passing), out_.whole(stored));
  rotate(plan_.at(passing).space == places_.device ? leaving_gradients_ : passing_sums_, passing);
  holder(sum, 0) = stored;
}

void StepLowering::sum_to_host(TensorId sum) {
  out_.begin_segment("gradient to host", micro_batches() - 1, graph_.at(sum).block);
  out_.set_phase(Phase::kOptimizer);
  const BufferId on_device = holder(sum, 0);
  holder(sum, 0) = make_buffer(graph_.at(sum), places_.host);
  out_.copy(places_.d2h, InstructionKind::kCopy, out_.whole(on_device), out_.whole(holder(sum, 0)));
}

}  // namespace plimsoll
