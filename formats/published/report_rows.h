#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "formats/published/write_rows.h"
#include "formats/runs/run_file.h"

namespace plimsoll {

/// What a run measured, as rows of memory.csv: peak of the device's arena, memory of the process, median time of a step.
/// Nothing in them tells who ran it: no host, user, path or command; a model from a folder is told by its sizes.
Result<std::vector<RowFields>> report_rows(const RunFile& run, const std::string& where);

}  // namespace plimsoll
