#pragma once

#include <optional>
#include <string>

#include "core/base/quantity.h"

namespace plimsoll {

/// Memory that a process has for itself.
struct ProcessMemory {
  Bytes anonymous;  ///< pages with no file behind them, or changed copies of a file's; pinned ones are among them
  Bytes locked;     ///< of these, what mlock holds
};

/// What /proc/self/smaps_rollup says of this process; nothing when the kernel does not say it. `root` stands before
/// /proc, for tests.
std::optional<ProcessMemory> process_memory(const std::string& root = "");

}  // namespace plimsoll
