#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options/machine_flags.h"
#include "formats/machines/machine_probe.h"
#include "profiler/probe/attached_drive.h"

namespace plimsoll {

/// The drive of --ssd on this computer, with the rates that the user gave, those of a `probe` (or null) that measured
/// this very folder, or those of a short trial in it, which the notes tell; nothing without --ssd. No more than what is
/// free there is usable.
Result<std::optional<AttachedDrive>> find_own_drive(const MachineFlags& flags, const MachineOptions& options,
                                                    const MachineProbe* probe, std::vector<std::string>& notes);

/// The flags with what `find_own_drive` tells of the drive of --ssd in that option: how much of it is usable, and its rates.
Result<MachineFlags> with_own_drive(MachineFlags flags, std::vector<std::string>& notes);

}  // namespace plimsoll
