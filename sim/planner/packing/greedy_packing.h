#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/plan/packing_task.h"

namespace plimsoll {

/// Offsets for a task's buffers, and the height that they reach.
struct TaskPacking {
  std::vector<Bytes> offsets;
  Bytes height;
};

/// Indices of buffers in the order in which they get their places.
using PackingOrder = std::vector<std::uint32_t>;

/// Gives each buffer in turn the lowest gap that holds it among those already placed whose lives overlap its own (gaps within
/// lives are not used); buffers with a fixed offset come first. Fast, and may collide with a fixed offset only if those do.
TaskPacking pack_first_fit(const PackingTask& task, const PackingOrder& order);

/// The lowest first-fit packing over the usual orders (size, area, duration, begin), then by climbing: buffers that reach
/// the top get their places earlier, and what is not worse is kept. Ends at `target`, after `most_attempts`, or on `stop`.
TaskPacking climb_packing(const PackingTask& task, Bytes target, std::int64_t most_attempts, const std::function<bool()>& stop);

}  // namespace plimsoll
