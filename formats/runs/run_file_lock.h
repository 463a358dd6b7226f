#pragma once

#include <string>

#include "core/base/result.h"

namespace plimsoll {

/// Keeps other runs off a run file, its checkpoint and what else is written beside it, from before the file exists
/// until the object goes. The kernel gives the lock back when the process dies, however it dies; a lock file that stays
/// behind then keeps nobody off.
class RunFileLock {
 public:
  /// Fails, kEnvironment, naming the process, when another run holds the lock of `run_file`, under whatever name.
  static Result<RunFileLock> acquire(const std::string& run_file);
  ~RunFileLock();
  RunFileLock(RunFileLock&& other) noexcept;
  RunFileLock& operator=(RunFileLock&&) = delete;

 private:
  RunFileLock(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_ = -1;
};

}  // namespace plimsoll
