#pragma once

#include <string>

#include "core/plan/plan.h"
#include "formats/runs/run_file.h"

namespace plimsoll {

/// What `show` says of a plan and of a run file, for scripts; each ends with a newline.
std::string show_json(const Plan& plan);
std::string show_json(const RunFile& run);

}  // namespace plimsoll
