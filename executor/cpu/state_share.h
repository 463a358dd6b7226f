#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "core/model/parameters.h"
#include "core/plan/plan.h"

namespace plimsoll {

/// Bytes of a state as its binding keeps it: all of a group's, or a rank's part of them.
std::size_t bytes_kept(const Plan& plan, const ParameterLayout& layout, const StateBinding& binding);

/// What a binding keeps of its whole group's state, in the buffer's order.
std::vector<std::byte> part_in(std::span<const std::byte> whole, const Plan& plan, const ParameterLayout& layout,
                               const StateBinding& binding);

/// Whether a rank keeps a part of a group, or reads weights whose master copy is another's.
bool keeps_less(const Plan& plan, const StateBinding& kept);

/// The whole group's state of that kind, which `fill` writes, in the type in which one rank would keep it.
std::vector<std::byte> whole_state(const Plan& plan, const ParameterLayout& layout, const StateBinding& kept,
                                   const std::function<void(std::span<std::byte>)>& fill);

}  // namespace plimsoll
