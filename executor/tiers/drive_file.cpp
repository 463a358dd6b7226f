#include "executor/tiers/drive_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/base/error.h"

namespace plimsoll {
namespace {

EnvironmentError failure(const std::string& folder, std::string what) {
  return EnvironmentError({.kind = ErrorKind::kEnvironment,
                           .what = std::move(what),
                           .where = folder,
                           .remedy = "free room there, or name another folder with --ssd-folder"});
}

/// A file that has no name, or loses it at once where the file system cannot make such files.
int open_nameless(const std::string& folder) {
  const int made = ::open(folder.c_str(), O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  if (made >= 0) return made;
  std::string name = folder + "/plimsoll-ssd-XXXXXX";
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named < 0) throw failure(folder, fmt::format("cannot make a file for SSD data: {}", std::strerror(errno)));
  ::unlink(name.c_str());
  return named;
}

/// A file that outgrows the process's limit raises a signal; asking first turns that into words.
Bytes largest_file() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur > static_cast<rlim_t>(kMaxParsedBytes.count)) {
    return kMaxParsedBytes;
  }
  return Bytes(static_cast<std::int64_t>(limit.rlim_cur));
}

}  // namespace

DriveFile::DriveFile(const std::string& folder, Bytes bytes, bool direct)
    : folder_(folder), size_(bytes), file_system_(file_system_of(folder)), descriptor_(open_nameless(folder)) {
  try {
    reserve();
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
  // Reserved first: where blocks cannot be reserved, the library writes single bytes, which direct files refuse.
  const int flags = ::fcntl(descriptor_, F_GETFL);
  direct_ = direct && ::fcntl(descriptor_, F_SETFL, flags | O_DIRECT) == 0;
  if (!direct_) ::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_RANDOM);  // whole buffers are asked for: no read-ahead
}

DriveFile::~DriveFile() { ::close(descriptor_); }

void DriveFile::reserve() {
  if (size_ > largest_file()) {
    throw failure(folder_, fmt::format("SSD data needs a file of {}, but this process may write files of {} at most",
                                       to_text(size_), to_text(largest_file())));
  }
  const std::string room = fmt::format("SSD data needs {} ({} bytes), {} is free", to_text(size_), size_.count,
                                       to_text(file_system_.free));
  if (size_ > file_system_.free) throw failure(folder_, room);
  if (size_.count == 0) return;
  int problem = EINTR;
  while (problem == EINTR) problem = ::posix_fallocate(descriptor_, 0, size_.count);
  if (problem != 0) throw failure(folder_, fmt::format("{}: {}", room, std::strerror(problem)));
}

}  // namespace plimsoll
