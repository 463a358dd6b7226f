#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/options/machine_flags.h"
#include "core/model/recipe.h"
#include "core/platform/platform.h"
#include "sim/cost/cost_model.h"

namespace plimsoll {

/// The machine that a command is about, with the costs to expect there and what was assumed.
struct TargetMachine {
  Platform platform;
  std::shared_ptr<const CostModel> costs;
  Precision precision = Precision::kFp32;  ///< the default here
  std::string precision_reason;
  std::vector<std::string> notes;
};

/// A machine file says all: an option beside it is refused, because it would be ignored.
Result<void> check_file_alone(const MachineFlags& flags);

/// The GPU named by --on, the machine of --machine, or this computer. `calibration` is a run file to take costs from,
/// or empty.
Result<TargetMachine> find_target_machine(const MachineFlags& flags, const std::string& calibration = {});

}  // namespace plimsoll
