#pragma once

#include <cstdint>
#include <filesystem>
#include <set>

#include "core/base/result.h"

namespace plimsoll {

/// The tokens after which a text of a model is over: "eos_token_id", a number or a list, of generation_config.json, else of
/// config.json in its folder; none when neither says so. A file that cannot be read is an error.
Result<std::set<std::int32_t>> end_tokens(const std::filesystem::path& folder);

}  // namespace plimsoll
