#pragma once

#include <CLI/CLI.hpp>

#include "cli/options/run_flags.h"
#include "cli/program/exit_code.h"

namespace plimsoll {

/// Runs on the ranks of the job that this process was started in, as `command` was asked to. Does not return when it fails: the
/// job ends.
ExitCode run_on_ranks(RunFlags flags, const CLI::App& command);

}  // namespace plimsoll
