#pragma once

#include <functional>
#include <vector>

#include "sim/planner/systems/offload_system.h"
#include "sim/planner/try_strategy.h"

namespace plimsoll {

/// Decides what `open` leaves open of `strategy`, one choice after another, and looks at the result. Of a share that is to be
/// the largest, the memory that it lies in decides: whether others overflow is for what it takes from them to say.
Result<Candidate> choose_open(const SearchProblem& problem, const Strategy& strategy, const std::vector<OpenChoice>& open,
                              const Look& look = {});

/// The largest of [low, high] that leaves room (0 or more), where room shrinks with it; low where none does. Asks few of them
/// where room shrinks evenly, and halves where it does not.
std::int64_t largest_with_room(std::int64_t low, std::int64_t high, const std::function<std::int64_t(std::int64_t)>& room);

/// Where in [low, high] a value is least that falls and then rises; `less(a, b)`: whether that at a is less than that at b.
std::int64_t least_of_valley(std::int64_t low, std::int64_t high,
                             const std::function<bool(std::int64_t, std::int64_t)>& less);

}  // namespace plimsoll
