#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/result.h"

namespace plimsoll {

/// What a program runs under; it decides how much of a GPU and of host memory a program can have. WSL2 is Linux in a virtual
/// machine under Windows, whose driver owns the GPU.
enum class OperatingSystem : std::uint8_t { kLinux, kWsl2, kWindows };

std::string_view to_text(OperatingSystem os);
Result<OperatingSystem> parse_operating_system(std::string_view text);

}  // namespace plimsoll
