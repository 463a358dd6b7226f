#pragma once

#include "cli/exit_code.h"
#include "cli/machine_flags.h"
#include "core/base/result.h"

namespace plimsoll {

/// Prints this computer under the flags' caps as one JSON object: its machine file, what was probed of it (or null), notes.
Result<ExitCode> print_this_machine(const MachineFlags& flags);

}  // namespace plimsoll
