#pragma once

#include <string>

#include "core/base/result.h"
#include "gui/timeline/timeline.h"

namespace plimsoll::gui {

/// Whether the file begins as a trace for chrome://tracing does: our export, Kineto's, another program's.
bool looks_like_chrome_trace(const std::string& path);

/// The complete slices ("X", and "B" with its "E") of such a trace: a track a thread, nested slices one lane deeper. What
/// else it holds (counters, flows, instants) is not drawn. Errors name the file and the byte.
Result<SharedTimeline> open_chrome_trace(const std::string& path);

}  // namespace plimsoll::gui
