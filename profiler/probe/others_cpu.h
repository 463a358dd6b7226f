#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace plimsoll {

/// CPU time since the computer started, in the kernel's ticks over all cores.
struct CpuTicks {
  std::int64_t busy = 0;   ///< with what a hypervisor took away
  std::int64_t total = 0;  ///< busy, idle and waiting
};

/// Reads the first line of /proc/stat; nothing when it is malformed.
std::optional<CpuTicks> parse_cpu_ticks(std::string_view text);

/// The share of all cores' time between the two that neither was idle nor `own_ticks`, what this process used; 0 when
/// no time passed.
double others_share(const CpuTicks& before, const CpuTicks& after, double own_ticks);

/// Above this share of the computer's time in others' use, what was measured meanwhile is too slow.
inline constexpr double kDisturbingShare = 0.10;

/// Tells how much of the computer's CPU time others used since the object was made.
class OthersCpu {
 public:
  OthersCpu();
  /// 0 to 1; 0 when the kernel does not tell, or too little time has passed to tell.
  [[nodiscard]] double share() const;

 private:
  std::optional<CpuTicks> before_;
  double own_before_ = 0;
};

}  // namespace plimsoll
