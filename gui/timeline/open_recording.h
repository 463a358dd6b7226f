#pragma once

#include <string>

#include "core/base/result.h"
#include "core/trace/recording.h"
#include "gui/timeline/timeline.h"

namespace plimsoll::gui {

/// Whether the file begins as a trace that formats/traces reads: Chrome and Kineto JSON (our own export too), plain or packed, or an
/// execution trace.
bool looks_like_recording(const std::string& path);

/// Whether a database is another profiler's, or a run file that was imported or profiled: it holds device activity and no plan.
bool is_foreign_recording(const std::string& path);

/// A recording as it is drawn: a track for each stream of a device, for the calls of each thread, and for what its threads named,
/// nested stretches one lane deeper. Counters and arrows are not drawn.
Result<SharedTimeline> timeline_of_recording(const Recording& recording, const std::string& source);

/// Reads such a file and builds its timeline. Errors name the file and the byte.
Result<SharedTimeline> open_recording(const std::string& path);

}  // namespace plimsoll::gui
