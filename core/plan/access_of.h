#pragma once

#include <cstdint>

#include "core/plan/plan.h"

namespace plimsoll {

/// How an instruction uses the bytes of its use number `index`: a guard's flag is read, whatever else happens to it.
constexpr Access access_of(const Instruction& instruction, std::uint32_t index, const Use& use) {
  return instruction.guard == index && use.access == Access::kWrite ? Access::kReadWrite : use.access;
}

}  // namespace plimsoll
