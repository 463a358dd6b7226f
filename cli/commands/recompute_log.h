#pragma once

#include <string>

#include "cli/program/exit_code.h"
#include "core/base/quantity.h"
#include "core/base/result.h"

namespace plimsoll {

/// `recompute LOG`: what of a program's values is kept and what is computed again, for a log of operators.
struct LogRequest {
  std::string file;
  std::string text;  ///< of the log
  Bytes budget;
  std::string save;  ///< where the schedule goes; may be empty
  bool json = false;
};

/// Prints the answer; exit code 3 when nothing fits.
Result<ExitCode> recompute_log(const LogRequest& request);

}  // namespace plimsoll
