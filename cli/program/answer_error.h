#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "cli/program/exit_code.h"

namespace plimsoll {

/// "infeasible", "input", …: the kind as JSON has it.
std::string_view to_text(ErrorKind kind);

/// What "error" holds in JSON; `code` is what the command ends with.
std::string error_json(const Error& error, ExitCode code);

/// Says it on standard output as {"error": …}, where `command` or one that it called was asked for --json.
void answer_error(const CLI::App& command, const Error& error, ExitCode code);

/// How a line ends that could not be read: as report_error; --json counts wherever it stands in `words`, up to a bare
/// "--".
ExitCode report_usage_error(const std::vector<std::string>& words, const Error& error);

/// How a command ends that has answered nothing: says why on standard error and, with --json, on standard output.
ExitCode report_error(const CLI::App& command, const Error& error);

}  // namespace plimsoll
