#pragma once

#include <string>

#include "core/base/result.h"

namespace plimsoll {

/// The run files of a folder that GPUs made, as a table: each plan's step as its run foretold it, beside the median of those that kept no
/// events. Errors name the file.
Result<std::string> recorded_runs_markdown(const std::string& folder);

}  // namespace plimsoll
