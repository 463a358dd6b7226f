#pragma once

#include "core/plan/expand.h"

namespace plimsoll {

/// Whether an instruction of that kind moves bytes from one memory to another.
constexpr bool is_transfer(InstructionKind kind) {
  return kind == InstructionKind::kCopy || kind == InstructionKind::kRead || kind == InstructionKind::kWrite;
}

/// The link that a transfer runs along, or nullptr when the platform has none.
const Link* link_of(const Plan& plan, const FlatBody& body, const Instruction& instruction);

}  // namespace plimsoll
