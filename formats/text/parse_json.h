#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace plimsoll {

/// Parses `text` strictly: a syntax error names line and byte (counted from `first_byte`, where the text starts in its
/// file); a key given twice, more than 64 levels and more than four million values are refused.
Result<nlohmann::json> parse_json(std::string_view text, std::string_view where, std::int64_t first_byte = 0);

}  // namespace plimsoll
