#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "cli/program/command_table.h"

namespace plimsoll {

/// The program's manual page in roff's man macros: all commands with all their options.
std::string manual_page(const CLI::App& program, const std::vector<CommandRow>& table);

}  // namespace plimsoll
