#pragma once

#include <string>

#include "core/base/result.h"
#include "core/trace/recording.h"

namespace plimsoll {

/// Reads what torch.cuda.memory._dump_snapshot wrote: the history of each device's caching allocator as allocations, with what was
/// reserved after each. Nothing of the pickle is executed. Where the history is longer than what was kept, what was reserved before
/// follows from the segments at its end. Out-of-memory events and stack frames are left out.
Result<Recording> read_memory_snapshot(const std::string& path);

}  // namespace plimsoll
