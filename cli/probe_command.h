#pragma once

#include <string>

#include "cli/exit_code.h"
#include "core/base/result.h"

namespace plimsoll {

/// Measures this computer, writes the probe to `output` (empty: where it is kept) and prints what was found, as text or
/// as the probe itself.
Result<ExitCode> probe_this_machine(std::string output, const std::string& ssd_folder, bool json);

}  // namespace plimsoll
