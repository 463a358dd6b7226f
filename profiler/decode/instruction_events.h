#pragma once

#include <vector>

#include "core/trace/recording.h"
#include "core/trace/trace.h"

namespace plimsoll {

/// One event for each instruction that the recording's links name: the envelope of the device work that it submitted, by step,
/// then instruction. An instruction that submitted none has no event here.
std::vector<TraceEvent> instruction_events(const Recording& recording);

/// How many pieces of device work no instruction submitted.
std::size_t unlinked_work(const Recording& recording);

}  // namespace plimsoll
