#pragma once

#include <CLI/CLI.hpp>

#include <string_view>

#include "cli/exit_code.h"

namespace plimsoll {

/// "infeasible", "input", …: the kind as JSON has it.
std::string_view to_text(ErrorKind kind);

/// Says it on standard output as {"error": …}, where `command` or one that it called was asked for --json.
void answer_error(const CLI::App& command, const Error& error);

/// How a command ends that has answered nothing: says why on standard error and, with --json, on standard output.
ExitCode report_error(const CLI::App& command, const Error& error);

}  // namespace plimsoll
