#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace plimsoll::test {

/// How a child ended, and what it wrote.
struct ChildEnd {
  int code = -1;   ///< exit code; -1 when a signal ended it
  int signal = 0;  ///< 0 when it exited by itself
  std::string out;
  std::string err;
};

/// A program that runs beside the test. Its output goes to files that are gone when it was waited for; what is still
/// running when the object dies is killed.
class ChildProcess {
 public:
  /// Starts `arguments[0]` in `folder`; files that it writes may grow to `file_limit` bytes (0: no limit).
  ChildProcess(const std::vector<std::string>& arguments, const std::string& folder, long file_limit = 0);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  void send(int signal) const;
  /// What it wrote to standard error so far.
  [[nodiscard]] std::string errors_so_far() const;
  /// Waits until `condition` holds; false when the child ended, or 30 s passed, without.
  [[nodiscard]] bool wait_for(const std::function<bool()>& condition);
  /// Waits until `text` stands in its standard error.
  [[nodiscard]] bool wait_for_text(const std::string& text);
  [[nodiscard]] ChildEnd wait();

 private:
  [[nodiscard]] bool ended();

  std::string captured_;  ///< name of the capture files without ".out", ".err"
  pid_t process_ = -1;
  int status_ = 0;
  bool reaped_ = false;
};

/// Runs a program to its end.
ChildEnd run_child(const std::vector<std::string>& arguments, const std::string& folder, long file_limit = 0);

}  // namespace plimsoll::test
