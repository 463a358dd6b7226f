#pragma once

#include <string>

#include "core/base/result.h"

namespace plimsoll {

/// Bytes a second: "1e9", "1GB/s", "25GiB". An error names `option`.
Result<double> parse_rate(const std::string& text, const std::string& option);

}  // namespace plimsoll
