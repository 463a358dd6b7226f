#pragma once

#include <optional>
#include <string>

#include "cli/program/exit_code.h"
#include "core/base/result.h"
#include "formats/machines/machine_parts.h"

namespace plimsoll {

/// What to measure, and where it goes.
struct ProbeRequest {
  std::string output;          ///< empty: where the probe is kept
  std::string ssd_folder;      ///< empty: no drive is measured
  std::optional<GpuPart> gpu;  ///< `output` gets the machine's parts with this GPU instead of the probe
  bool stated_link = false;    ///< the GPU's lanes are as the user says, not as they are found
  bool json = false;           ///< print the probe itself
};

/// Measures this computer, writes what the request asks for, and prints what was found.
Result<ExitCode> probe_this_machine(const ProbeRequest& request);

}  // namespace plimsoll
