#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <string_view>

#include "cli/exit_code.h"

namespace plimsoll {

/// "infeasible", "input", …: the kind as JSON has it.
std::string_view to_text(ErrorKind kind);

/// What "error" holds in JSON; `code` is what the command ends with.
std::string error_json(const Error& error, ExitCode code);

/// Says it on standard output as {"error": …}, where `command` or one that it called was asked for --json.
void answer_error(const CLI::App& command, const Error& error, ExitCode code);

/// The same for a line that could not be read: --json counts wherever it stands, up to a bare "--".
void answer_usage_error(int argc, const char* const* argv, const std::string& what);

/// How a command ends that has answered nothing: says why on standard error and, with --json, on standard output.
ExitCode report_error(const CLI::App& command, const Error& error);

}  // namespace plimsoll
