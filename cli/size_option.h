#pragma once

#include <string>
#include <string_view>

#include "core/base/quantity.h"

namespace plimsoll {

/// The size that an option was given; an error names the option.
Result<Bytes> read_size(std::string_view option, const std::string& text);

}  // namespace plimsoll
