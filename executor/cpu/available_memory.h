#pragma once

#include <string>

#include "core/base/quantity.h"

namespace plimsoll {

/// Bytes that this process may still take without swapping or being killed: the least of the kernel's MemAvailable and
/// what the limits of its control groups (version 1 and 2) leave. `root` stands before /proc and /sys, for tests.
/// Throws EnvironmentError when the kernel does not say.
Bytes available_memory(const std::string& root = "");

}  // namespace plimsoll
