#include "cli/program/exit_code.h"

#include <fmt/format.h>

namespace plimsoll {

ExitCode exit_code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInfeasible:
      return ExitCode::kMissed;
    case ErrorKind::kEnvironment:
      return ExitCode::kEnvironment;
    case ErrorKind::kInterrupted:
      return ExitCode::kInterrupted;
    case ErrorKind::kInput:
    case ErrorKind::kUnknownName:
    case ErrorKind::kUncalibrated:
    case ErrorKind::kDefect:
      return ExitCode::kUsage;
  }
  return ExitCode::kUsage;
}

ExitCode report_error(const Error& error) {
  const std::string where = error.where.empty() ? "" : error.where + ": ";
  fmt::print(stderr, "plimsoll: {}{}\n", where, error.what);
  if (!error.remedy.empty()) fmt::print(stderr, "  {}\n", error.remedy);
  return exit_code_of(error.kind);
}

}  // namespace plimsoll
