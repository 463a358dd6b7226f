#include "formats/plans/instruction_text.h"

#include "core/plan/transfers.h"

namespace plimsoll {

std::string_view instruction_name(const Plan& plan, const Instruction& instruction) {
  if (instruction.kind == InstructionKind::kLaunch) return to_text(plan.at(instruction.kernel).kind);
  if (instruction.kind == InstructionKind::kHostWork) return to_text(instruction.task);
  return to_text(instruction.kind);
}

std::string_view instruction_name(const Plan& plan, const FlatBody& body, const Instruction& instruction) {
  if (instruction.kind != InstructionKind::kMarker || instruction.use_count == 0) return instruction_name(plan, instruction);
  if (instruction.use_count > 1) return "hand over";
  return writes(body.uses(instruction).front().access) ? "allocate" : "free";
}

Bytes bytes_touched(const FlatBody& body, const Instruction& instruction) {
  const bool transfer = is_transfer(instruction.kind);
  Bytes sum;
  for (const Use& use : body.uses(instruction)) {
    if (!transfer || reads(use.access)) sum += use.bytes;
  }
  return sum;
}

}  // namespace plimsoll
