#pragma once

#include <CLI/CLI.hpp>

#include "cli/program/exit_code.h"

namespace plimsoll {

/// Commands that tell of the program itself, made from its own options.
void add_completion(CLI::App& app, ExitCode& code);
void add_manual(CLI::App& app, ExitCode& code);

}  // namespace plimsoll
