#include "executor/tiers/drive_folder_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace plimsoll {

Result<DriveFolderLock> DriveFolderLock::acquire(const std::string& folder) {
  const auto refused = [&](std::string what) {
    return fail({.kind = ErrorKind::kEnvironment,
                 .what = std::move(what),
                 .where = folder,
                 .remedy = "wait for it to end, or name another folder with --ssd-folder"});
  };
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return refused(fmt::format("cannot be opened for SSD data: {}", std::strerror(errno)));
  int problem = 0;
  do {
    problem = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  } while (problem == EINTR);
  if (problem != EWOULDBLOCK) return DriveFolderLock(descriptor);
  ::close(descriptor);
  return refused("another run keeps its SSD data in this folder");
}

DriveFolderLock::DriveFolderLock(DriveFolderLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

DriveFolderLock::~DriveFolderLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace plimsoll
