#pragma once

#include <string>

#include "core/base/result.h"
#include "executor/tiers/file_system.h"

namespace plimsoll {

/// What the folder lies on, when `needed` bytes of SSD data can go there; else, kEnvironment, why not: there is none,
/// it is a file, mounted read-only, closed to this user, or has less room than is needed. A network and memory are no
/// refusal but a warning (FileSystem::warning).
Result<FileSystem> check_drive_folder(const std::string& folder, Bytes needed = {});

/// A file in the folder that has no name, or loses it at once where the file system cannot make such files. Throws
/// EnvironmentError when the folder takes none.
int open_nameless_file(const std::string& folder);

/// A name in the folder for a file that was made without one, as long as this lives; a file can have one once. Throws
/// EnvironmentError where the file system gives it none.
class NameForNow {
 public:
  NameForNow(int descriptor, const std::string& folder);
  ~NameForNow();
  NameForNow(const NameForNow&) = delete;
  NameForNow& operator=(const NameForNow&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace plimsoll
