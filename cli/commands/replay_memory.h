#pragma once

#include <string>

#include "cli/program/answered.h"
#include "core/base/result.h"

namespace plimsoll {

/// `replay TRACE --memory`: the allocations of a recording through the caching allocator's model.
Result<Answered> replay_memory(const std::string& file, bool expandable_segments, bool json);

}  // namespace plimsoll
