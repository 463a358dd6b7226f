#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "gui/timeline/timeline_page.h"

namespace plimsoll::gui {

/// Whether the file begins as a SQLite database does: a run file, or another program's.
bool looks_like_database(const std::string& path);

/// The traces of a run file that have events, the run's own first.
Result<std::vector<NamedTimeline>> open_run_file(const std::string& path);

}  // namespace plimsoll::gui
