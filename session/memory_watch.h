#pragma once

#include <optional>
#include <string>

#include "formats/machines/available_memory.h"

namespace plimsoll {

/// The host's memory at a moment.
struct MemoryNow {
  AvailableMemory available;
  Bytes own;                      ///< this process's anonymous memory that is resident
  std::optional<double> stalled;  ///< the share of the last ten seconds in which some task waited for memory; nothing: not told
};

/// `root` stands before /proc and /sys, for tests; nothing when the kernel does not tell.
std::optional<MemoryNow> memory_now(const std::string& root = "");

/// What a run lacks because of others.
struct MemoryShortage {
  Bytes taken;    ///< by other processes since the run began
  Bytes missing;  ///< of the run's own, not in memory yet, or not any more
  MemoryNow now;
  Bytes affordable;  ///< what a run that is planned anew may take

  /// With figures, without a remedy.
  [[nodiscard]] std::string text() const;
};

/// Notices, once, that other processes have taken memory that a run counts on: less would be left than a twentieth of what the
/// run could have when it began, once it has all that it needs, and others have taken at least half of that since. What the
/// run itself takes is never held against others. A value: knows no clock and no file.
class MemoryWatch {
 public:
  /// `needed`: anonymous memory of the whole process at its most.
  MemoryWatch(Bytes needed, MemoryNow begin);
  std::optional<MemoryShortage> look(const MemoryNow& now);

 private:
  Bytes needed_;
  MemoryNow begin_;
  Bytes reserve_;
  bool told_ = false;
};

}  // namespace plimsoll
