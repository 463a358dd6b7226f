#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"

namespace plimsoll {

struct ProfiledProgram {
  std::vector<std::string> command;  ///< the program and its arguments, found as a shell finds it
  std::string library;               ///< libplimsoll_inject.so
  std::string cupti;                 ///< a libcupti; empty: the program's own, or the system's
  std::string folder;                ///< an empty folder for the spools
};

/// How the program ended, and what it left.
struct ProfiledEnd {
  int code = 0;                      ///< its exit code
  int signal = 0;                    ///< not 0: this signal ended it
  std::vector<std::string> spools;   ///< by process number
  std::vector<std::string> reasons;  ///< why a process was not profiled
};

/// The variables that make CUDA and NVTX load the library into the program, "NAME=value".
std::vector<std::string> profile_environment(const ProfiledProgram& program);

/// Runs the program with its terminal and files as they are. Signals that somebody sends to this process (INT, TERM, HUP, QUIT,
/// USR1, USR2) go on to the program; those of the terminal reach it anyway. Fails when it cannot be started.
Result<ProfiledEnd> run_profiled(const ProfiledProgram& program);

}  // namespace plimsoll
