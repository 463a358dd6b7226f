#pragma once

#include <string>

#include "core/base/result.h"

namespace plimsoll {

/// Keeps other runs' SSD data out of a folder. The lock is the folder's own (flock): there is no file to be left behind, and the
/// kernel gives it back when the process dies, however it dies.
class DriveFolderLock {
 public:
  /// Fails, kEnvironment, when another run holds the folder, under whatever name. Where the file system knows no locks nobody is
  /// kept off.
  static Result<DriveFolderLock> acquire(const std::string& folder);
  ~DriveFolderLock();
  DriveFolderLock(DriveFolderLock&& other) noexcept;
  DriveFolderLock& operator=(DriveFolderLock&&) = delete;

 private:
  explicit DriveFolderLock(int descriptor) : descriptor_(descriptor) {}

  int descriptor_ = -1;
};

}  // namespace plimsoll
