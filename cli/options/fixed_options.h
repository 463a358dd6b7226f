#pragma once

#include <string>

#include "cli/options/run_flags.h"
#include "core/base/result.h"

namespace plimsoll {

/// Refuses, by name, every option on the command line that asks for another number than `fixed` holds; `source` is the
/// plan or run file that fixed it. Options that repeat what is fixed are welcome.
Result<void> check_fixed_options(const RunFlags& flags, const ModelSpec& spec, const Recipe& fixed,
                                 const std::string& source);

}  // namespace plimsoll
