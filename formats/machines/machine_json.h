#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/platform/platform.h"
#include "formats/text/json_node.h"
#include "formats/plans/name_table.h"

namespace plimsoll {

/// A machine file: the platform alone, one space, processor, resource, link or queue a line.
std::string write_machine(const Platform& platform);

/// Reads a machine file. `where` names the file in errors.
Result<Platform> read_machine(std::string_view text, const std::string& where);

/// The platform as a plan carries it, without the file's version; lines after the first start with `indent` spaces.
std::string write_platform(const Platform& platform, std::size_t indent);
/// The platform that the node describes; spaces, processors and resources are referred to by name or index.
Platform read_platform(const JsonNode& node);

}  // namespace plimsoll
