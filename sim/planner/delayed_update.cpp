// The part of StepLowering that updates with the gradients of the step before (Recipe::delay).
//
// A gradient waits in a buffer of two slots: this step's backward pass writes one while the update reads the other, and the
// clip factor, and the flag that says whether a step's gradients are finite, wait beside it. Which weights forward and backward
// read is the recipe's to say, so the update's place in the step is free: where the CPU updates weights that the device has a
// copy of, it does so during forward and backward, and the new weights follow when backward has read the old ones.
#include <fmt/format.h>

#include "sim/planner/step_lowering.h"

namespace plimsoll {

bool StepLowering::updates_ahead() const {
  return delayed() && optimizer_on_host() && plan_.strategy.parameters == Tier::kDevice;
}

SpaceId StepLowering::waiting_space(GroupId group, TensorId sum) const {
  const Tier tier = gradient_tier(sum);
  if (tier == Tier::kSsd) return *places_.ssd;
  return tier == Tier::kHost || updated_on_host(group) ? places_.host : places_.device;
}

BufferId StepLowering::lasting_buffer(const Tensor& tensor, SpaceId space) {
  return book_.add({.name = tensor.block < 0 ? book_.name("{}", tensor.name)
                                             : book_.name("{} of block {}", tensor.name, tensor.block),
                    .space = space,
                    .bytes = tensor.bytes(),
                    .category = tensor.kind,
                    .persistent = true,
                    .slots = 2});
}

void StepLowering::find_waiting() {
  if (!delayed()) return;
  for (std::size_t i = 0; i < outline_.summed_gradients.size(); ++i) {
    const TensorId sum = outline_.summed_gradients[i];
    if (sum.valid()) waiting_[sum] = lasting_buffer(graph_.at(sum), waiting_space(GroupId(i), sum));
  }
  for (const Op& op : graph_.ops) {
    if (op.kind != OpKind::kClipFactor) continue;
    const SpaceId where = optimizer_on_host() ? places_.host : places_.device;
    waiting_[op.operands[1].tensor] = lasting_buffer(graph_.at(op.operands[1].tensor), where);
  }
}

void StepLowering::update_ahead() {
  if (!updates_ahead()) return;
  const auto clip = waiting_.find(clip_tensor());
  if (clip != waiting_.end()) clip_factor_ = clip->second;
  if (loss_scale_.valid()) flag_ = make_flag("finite", places_.host);
  start_updates(out_.next_id());
  for (std::size_t i = graph_.parameters.groups.size(); i-- > 0;) {
    out_.begin_segment("update ahead", 0, graph_.parameters.groups[i].block);
    out_.set_phase(Phase::kOptimizer);
    update_group(GroupId(i), true);
  }
}

void StepLowering::publish_ahead() {
  for (const auto& [group, weights] : unpublished_) {
    out_.begin_segment("publish", 0, graph_.parameters.at(group).block);
    out_.set_phase(Phase::kOptimizer);
    const auto flag = update_flag();
    if (flag) out_.set_guard(flag);
    publish_weights(group, weights);
    if (flag) out_.set_guard({});
  }
}

TensorId StepLowering::clip_tensor() const {
  for (const Op& op : graph_.ops) {
    if (op.kind == OpKind::kClipFactor) return op.operands[1].tensor;
  }
  return {};
}

BufferId StepLowering::make_flag(std::string name, SpaceId where) {
  return book_.add({.name = std::move(name), .space = where, .bytes = Bytes(size_of(DType::kFp64)),
                    .category = TensorKind::kScalar, .persistent = delayed(), .slots = delayed() ? 2u : 1u});
}

}  // namespace plimsoll
