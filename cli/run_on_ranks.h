#pragma once

#include <CLI/CLI.hpp>

#include "cli/exit_code.h"
#include "cli/run_flags.h"

namespace plimsoll {

/// Runs on the ranks of the job that this process was started in, as `command` was asked to. Does not return when it fails: the
/// job ends.
ExitCode run_on_ranks(RunFlags flags, const CLI::App& command);

}  // namespace plimsoll
