#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/plan/strategy.h"
#include "formats/text/json_node.h"

namespace plimsoll {

/// A strategy file: one line of JSON that a person can edit.
std::string write_strategy(const Strategy& strategy);

/// Reads a strategy file; every key but "format_version" may be left out. `where` names the file in errors.
Result<Strategy> read_strategy(std::string_view text, const std::string& where);

/// The fields of a strategy, without the file's version, as a plan carries them.
std::string write_strategy_fields(const Strategy& strategy);
/// Reads what `write_strategy_fields` wrote; `where` names it in errors.
Result<Strategy> read_strategy_line(std::string_view text, const std::string& where);
/// The strategy that the node describes.
Strategy read_strategy_fields(const JsonNode& node);
}  // namespace plimsoll
