#include "core/platform/operating_system.h"

namespace plimsoll {

std::string_view to_text(OperatingSystem os) {
  switch (os) {
    case OperatingSystem::kLinux: return "linux";
    case OperatingSystem::kWsl2: return "wsl2";
    case OperatingSystem::kWindows: return "windows";
  }
  return "?";
}

Result<OperatingSystem> parse_operating_system(std::string_view text) {
  for (const OperatingSystem os : {OperatingSystem::kLinux, OperatingSystem::kWsl2, OperatingSystem::kWindows}) {
    if (to_text(os) == text) return os;
  }
  return fail({.kind = ErrorKind::kInput,
               .what = "'" + std::string(text) + "' is no operating system",
               .where = {},
               .remedy = "choose one of linux, wsl2, windows"});
}

}  // namespace plimsoll
