#pragma once

#include "cli/exit_code.h"
#include "cli/run_flags.h"

namespace plimsoll {

/// Runs on the ranks of the job that this process was started in. Does not return when it fails: the job ends.
ExitCode run_on_ranks(RunFlags flags);

}  // namespace plimsoll
