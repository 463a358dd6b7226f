#pragma once

#include "core/base/error.h"

namespace plimsoll {

/// Exit codes of every command, as `plimsoll --help` documents them.
enum class ExitCode : int { kDone = 0, kUsage = 2, kMissed = 3, kEnvironment = 4, kInterrupted = 130 };

/// The code with which a command ends that could not do its work.
ExitCode exit_code_of(ErrorKind kind);

/// Prints "plimsoll: what, where, remedy" to standard error and gives the exit code.
ExitCode report_error(const Error& error);

}  // namespace plimsoll
