#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "session/memory_watch.h"
#include "session/run_session.h"

namespace plimsoll {

/// Looks after the host's memory while a run goes on.
class HostMemory {
 public:
  /// What the run of `plan` needs, and what there is as it begins. Keeps a reference.
  HostMemory(const RunRequest& request, const Plan& plan);
  /// What to tell the user, once: others took memory that the run counts on, with the command that goes on with less. Looks
  /// at most every second; the kernel's files take tens of microseconds.
  std::optional<std::string> look();

 private:
  const RunRequest& request_;
  std::optional<MemoryWatch> watch_;  ///< nothing: the kernel does not tell
  std::chrono::steady_clock::time_point looked_;
};

}  // namespace plimsoll
