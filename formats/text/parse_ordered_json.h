#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "core/base/result.h"

namespace plimsoll {

/// As parse_json, with the keys of objects in the order in which they stand: for data whose order is written out again.
Result<nlohmann::ordered_json> parse_ordered_json(std::string_view text, std::string_view where);

}  // namespace plimsoll
