#pragma once

#include <span>
#include <string_view>

#include "core/plan/plan.h"

namespace plimsoll {

/// The operands of a kernel in its order, as core/graph/op.h lists them: r reads, w writes, u updates (rw), x writes or
/// updates; a capital may be absent, and + reads one or more. A bar stands between the forms of a kernel that has two.
std::string_view operand_pattern(OpKind kind);

/// Whether the accesses of `uses`, but for use number `guard`, are operands of that pattern.
bool matches_pattern(std::string_view pattern, std::span<const Use> uses, std::uint32_t guard);

/// Whether a kernel of that kind belongs into the phase (forward kernels run again in backward when they are
/// recomputed).
bool belongs_to_phase(OpKind kind, Phase phase);

}  // namespace plimsoll
