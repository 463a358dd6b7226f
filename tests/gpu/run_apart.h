#pragma once

#include <functional>
#include <string>
#include <vector>

namespace plimsoll::gpu {

/// How a process of its own ended.
struct ApartEnd {
  int code = -1;         ///< its exit code; -1: it did not exit by itself
  int signal = 0;        ///< that ended it
  bool too_long = false;  ///< it was ended for that
  double seconds = 0;
};

/// Runs a program, hearing every line that it writes to standard output as it comes, and ends it (and it ends with this process)
/// where it takes longer than `seconds`. Its standard error is this process's.
ApartEnd run_apart(const std::vector<std::string>& command, double seconds, const std::function<void(const std::string&)>& hear);

/// "ended by signal 11", "not done after 60 s", "exit code 3".
std::string to_text(const ApartEnd& end);

}  // namespace plimsoll::gpu
