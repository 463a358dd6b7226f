#pragma once

#include <string>

#include "core/base/quantity.h"

namespace plimsoll {

/// Bytes that this process may still take without swapping or being killed, and who sets that bound.
struct AvailableMemory {
  Bytes bytes;
  std::string bound;  ///< "MemAvailable", or "limit of the control group /job/step"
};

/// The least of the kernel's MemAvailable, what the limits of the process's control groups (version 1 and 2) and of all
/// groups around them leave, and what its limit of address space does. `root` stands before /proc and /sys, for tests.
/// Throws EnvironmentError when the kernel does not say.
AvailableMemory available_memory(const std::string& root = "");

}  // namespace plimsoll
