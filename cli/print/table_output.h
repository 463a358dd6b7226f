#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "core/base/result.h"

namespace plimsoll {

/// -o FILE of commands that print a table.
void add_table_output(CLI::App& command, std::string& path);

/// Fails, before any work is done, where check_place does.
Result<void> check_table_output(const std::string& path);

/// Prints a command's table, or writes it to `path` where that is not empty. A file that is there already is replaced only where
/// it begins with the same line: another table of that kind.
Result<void> put_table(const std::string& text, const std::string& path);

}  // namespace plimsoll
