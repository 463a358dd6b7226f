#pragma once

#include <cstddef>
#include <string_view>

namespace plimsoll {

/// Length of `text` without a last character of which bytes are still missing. Bytes that are no UTF-8 count as complete.
std::size_t complete_utf8(std::string_view text);

}  // namespace plimsoll
