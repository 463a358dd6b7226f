#include "gui/timeline/work_class.h"

namespace plimsoll::gui {
namespace {

/// Kernels up to the loss make activations; the loss's own belongs to the forward pass, too.
bool makes_activations(OpKind kind) {
  const bool routed = kind >= OpKind::kRouter && kind <= OpKind::kCombine;
  const bool of_pairs = kind >= OpKind::kDistanceBias && kind <= OpKind::kCrossAttention;
  return kind <= OpKind::kLoss || routed || of_pairs;
}

bool attends(OpKind kind) { return attends_forward(kind) || attends_backward(kind); }

WorkClass of_launch(const Plan& plan, const Instruction& instruction) {
  switch (instruction.phase) {
    case Phase::kForward:
      return WorkClass::kForward;
    case Phase::kBackward: {
      const OpKind kind = plan.at(instruction.kernel).kind;
      const bool of_plimsoll = instruction.use_count > 0;  // another program's launches name no operands, and a product is a product
      const bool again = of_plimsoll && makes_activations(kind) && kind != OpKind::kAdd && kind != OpKind::kDequantize;
      return again ? WorkClass::kRecompute : WorkClass::kBackward;
    }
    case Phase::kOptimizer:
      return WorkClass::kOptimizer;
    case Phase::kLoad:
      return WorkClass::kLoad;
  }
  return WorkClass::kOther;
}

}  // namespace

WorkClass work_class(const Plan& plan, const Instruction& instruction, bool to_device) {
  switch (instruction.kind) {
    case InstructionKind::kLaunch:
      return of_launch(plan, instruction);
    case InstructionKind::kCopy:
      return to_device ? WorkClass::kCopyIn : WorkClass::kCopyOut;
    case InstructionKind::kRead:
      return WorkClass::kRead;
    case InstructionKind::kWrite:
      return WorkClass::kWrite;
    case InstructionKind::kCollective:
      return WorkClass::kCollective;
    case InstructionKind::kHostWork:
      return instruction.task == HostTask::kLoadTokens ? WorkClass::kLoad : WorkClass::kOther;
    case InstructionKind::kMarker:
      return WorkClass::kOther;
  }
  return WorkClass::kOther;
}

WorkTone work_tone(const Plan& plan, const Instruction& instruction) {
  if (instruction.kind != InstructionKind::kLaunch) return WorkTone::kProduct;
  const OpKind kind = plan.at(instruction.kernel).kind;
  if (attends(kind)) return WorkTone::kAttention;
  return is_product(kind) || is_update(kind) ? WorkTone::kProduct : WorkTone::kRest;
}

}  // namespace plimsoll::gui
