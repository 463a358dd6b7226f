#pragma once

#include <vector>

#include "core/model/tensor_slice.h"
#include "core/plan/plan.h"

namespace plimsoll {

/// The channel on which ranks that share layers add up what each has of a product. Its members stand in the order of their
/// slices, so a plan's exchanges say which slice the rank has.
inline constexpr std::uint32_t kSlicesChannel = 900'000;

/// Which slice of each block's layers the plan's rank computes; all of them where it adds nothing up on kSlicesChannel.
TensorShare tensor_share(const Plan& plan);

/// Which part of each mixture's experts the plan's rank has; all of them where it takes part in no all-to-all.
TensorShare expert_share(const Plan& plan);

/// Which slice of that group, or which of its experts, the rank has alone; count 1: all ranks have all of it.
TensorShare share_of_group(const Plan& plan, GroupId group);

/// Which of its group's elements a binding holds, in the buffer's order: all, a slice of layers that ranks share
/// (runs_of_slice), all but other ranks' experts (runs_of_experts), or a stretch that a replica keeps (part_of) of a slice or of all.
/// Part replica · slices + slice of replicas · slices.
std::vector<ElementRun> runs_of_state(const Plan& plan, const StateBinding& binding);

/// Elements that the binding's buffer must have room for: of stretches all have room for the longest.
std::int64_t room_of_state(const Plan& plan, const StateBinding& binding);

/// What of the runs lies between the elements of a stretch of the slice, as the stretch has it.
std::vector<ElementRun> runs_between(const std::vector<ElementRun>& runs, const ElementPart& stretch);

}  // namespace plimsoll
