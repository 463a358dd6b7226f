#pragma once

#include <string>
#include <string_view>

#include "core/base/quantity.h"

namespace plimsoll {

/// The size that an option was given; an error names the option.
Result<Bytes> read_size(std::string_view option, const std::string& text);
/// The same of a memory or a drive: a few bytes without a unit are asked about.
Result<Bytes> read_large_size(std::string_view option, const std::string& text);

}  // namespace plimsoll
