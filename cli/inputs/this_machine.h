#pragma once

#include "cli/options/machine_flags.h"
#include "cli/program/exit_code.h"
#include "core/base/result.h"

namespace plimsoll {

/// Prints this computer under the flags' caps as one JSON object: its machine file, what was probed of it (or null), notes.
Result<ExitCode> print_this_machine(const MachineFlags& flags);

}  // namespace plimsoll
