#pragma once

#include <string>
#include <vector>

#include "cli/options/machine_flags.h"
#include "core/platform/platform.h"

namespace plimsoll {

/// The options of a machine with the CUDA device of that number that is here: its board, and this computer's memory and cores
/// where the options say nothing of them. An error says what is missing: the toolkit, a driver, a device, or a board that the
/// catalogue knows.
Result<MachineFlags> with_cuda_device(MachineFlags flags, std::uint32_t number = 0);

/// Lowers what plans may use of the device to what is free of it now, less what the backend keeps for itself.
Result<void> limit_to_free_memory(Platform& platform, std::uint32_t number = 0);

/// Measures copies to and from the device beside the CPU's Adam, and gives the platform what was found. A note says what, or why not.
void measure_copies(Platform& platform, std::uint32_t number, std::vector<std::string>& notes);

}  // namespace plimsoll
