// The part of StepLowering that knows where the loss is scaled.
//
// One LossScale lasts from step to step, where the gradients' norm is known. The losses read it at the step's start, on the
// device a copy; the clip factor's kernel, which learns whether all gradients are finite, changes it at the step's end. Updates
// behind it take place under the flag "finite". Updates in the backward pass guess: from the version before the step they
// make this step's with the factor of gradients that are finite and not clipped, and the redo puts that right, if only by
// letting the old version go on.
#include "sim/planner/step_lowering.h"

namespace plimsoll {

void StepLowering::find_loss_scale() {
  for (const StateBinding& binding : plan_.state) {
    if (binding.kind == TensorKind::kScalar) loss_scale_ = binding.buffer;
  }
}

void StepLowering::place_loss_scale(const Op& op, std::uint32_t micro_batch) {
  if (!loss_scale_.valid() || !graph_.loss_scale.valid()) return;
  if (op.kind == OpKind::kClipFactor) holder(graph_.loss_scale, micro_batch) = loss_scale_;
  if (op.kind != OpKind::kCrossEntropy && op.kind != OpKind::kExpertBalance) return;
  if (optimizer_on_host() && !scale_on_device_.valid()) {
    const Buffer lasting = plan_.at(loss_scale_);
    scale_on_device_ = book_.add({.name = "loss scale of the step", .space = places_.device, .bytes = lasting.bytes,
                                  .category = lasting.category});
    out_.copy(places_.h2d, InstructionKind::kCopy, out_.whole(loss_scale_), out_.whole(scale_on_device_));
  }
  holder(graph_.loss_scale, micro_batch) = optimizer_on_host() ? scale_on_device_ : loss_scale_;
}

std::optional<Range> StepLowering::guessed_factor(GroupId group) const {
  if (!loss_scale_.valid()) return std::nullopt;
  const BufferId scale = optimizer_on_host() && !updated_on_host(group) ? scale_on_device_ : loss_scale_;
  return Range{scale, Bytes(0), Bytes(kScaledFactorDoubles * size_of(DType::kFp64))};
}

std::optional<Range> StepLowering::update_flag() const {
  if (!loss_scale_.valid() || plan_.strategy.update_in_backward) return std::nullopt;
  return flag();
}

}  // namespace plimsoll
