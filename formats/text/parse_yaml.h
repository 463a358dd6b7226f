#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "core/base/result.h"

namespace plimsoll {

/// Parses the first document of a YAML text as Python's readers do: plain words become null, booleans (yes and no among
/// them) and numbers, "1e-5" too; quoted ones stay texts; "<<" takes over another mapping's keys. A syntax error names its line; a
/// key given twice or that is no scalar, more than 64 levels and more than 100,000 values (aliases counted where they
/// stand) are refused.
Result<nlohmann::json> parse_yaml(std::string_view text, std::string_view where);

}  // namespace plimsoll
