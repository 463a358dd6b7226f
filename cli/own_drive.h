#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/machine_flags.h"
#include "profiler/probe/attached_drive.h"

namespace plimsoll {

/// The drive of --ssd on this computer, with the rates that the user gave or a short trial in the folder, which the
/// notes tell; nothing without --ssd. No more than what is free there is usable.
Result<std::optional<AttachedDrive>> find_own_drive(const MachineFlags& flags, const MachineOptions& options,
                                                    std::vector<std::string>& notes);

}  // namespace plimsoll
