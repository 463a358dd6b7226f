#pragma once

#include <string>

#include "core/plan/expand.h"

namespace plimsoll {

/// A short name for people: the kernel of a launch, the task of host work, else the kind ("copy", "read").
std::string_view instruction_name(const Plan& plan, const Instruction& instruction);
/// The same within its body, where a marker says what it allocates or frees.
std::string_view instruction_name(const Plan& plan, const FlatBody& body, const Instruction& instruction);

/// Bytes that the instruction moves: of its source for a transfer, else all bytes that its uses touch.
Bytes bytes_touched(const FlatBody& body, const Instruction& instruction);

}  // namespace plimsoll
