#pragma once

#include <string>
#include <vector>

#include "core/base/error.h"
#include "sim/stack/stack_setup.h"

namespace plimsoll {

/// What waits elsewhere than on the device ("optimizer:cpu"), as far as the setup's stack knows it.
Result<void> read_offload(const std::vector<std::string>& items, StackSetup& setup);

/// Of Gemini's chunks: static, or auto.
Result<void> read_placement(const std::string& placement, StackSetup& setup);

}  // namespace plimsoll
