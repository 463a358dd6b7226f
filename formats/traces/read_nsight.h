#pragma once

#include <string>

#include "core/base/result.h"
#include "core/trace/recording.h"

namespace plimsoll {

/// Reads the device activity of an SQLite export of Nsight Systems, or of a run file, which keeps it in the same tables. Tables
/// that are not there were never needed; columns that drifted are found by name, and only start, end, stream and name are asked
/// for. Nothing is written to or beside the file. Refused: other databases (nvprof's among them, by name), damaged ones, and more
/// than 2³¹ rows of a table.
Result<Recording> read_nsight(const std::string& path);

/// True when a run file or export at `path` holds device activity.
Result<bool> holds_activity(const std::string& path);

}  // namespace plimsoll
