#include "executor/tiers/drive_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/base/error.h"
#include "core/plan/plan.h"
#include "executor/tiers/drive_folder.h"

namespace plimsoll {
namespace {

EnvironmentError failure(const std::string& folder, std::string what) {
  return EnvironmentError({.kind = ErrorKind::kEnvironment,
                           .what = std::move(what),
                           .where = folder,
                           .remedy = "free room there, or name another folder with --ssd-folder"});
}

FileSystem checked(const std::string& folder, Bytes needed) {
  auto system = check_drive_folder(folder, needed);
  if (!system) throw EnvironmentError(system.error());
  return std::move(*system);
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
    : folder_(folder), file_system_(checked(folder, bytes)), descriptor_(open_nameless_file(folder)) {
  try {
    resize(bytes, direct);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

DriveFile::~DriveFile() { ::close(descriptor_); }

std::shared_ptr<void> DriveFile::kept(const std::function<std::shared_ptr<void>(const std::string& path)>& make) const {
  if (kept_ == nullptr) kept_ = make(NameForNow(descriptor_, folder_).path());
  return kept_;
}

/// Some file systems accept the flag and refuse the transfers.
bool DriveFile::takes_direct_reads() const {
  if (size_ < kStorageAlignment) return true;
  const auto bytes = static_cast<std::size_t>(kStorageAlignment.count);
  const std::unique_ptr<void, decltype(&std::free)> block(std::aligned_alloc(bytes, bytes), &std::free);
  return ::pread(descriptor_, block.get(), bytes, 0) >= 0 || errno != EINVAL;
}

void DriveFile::resize(Bytes bytes, bool direct) {
  const bool was_direct = direct_;
  set_direct(false);  // where blocks cannot be reserved, the library writes single bytes, which direct files refuse
  try {
    if (bytes > size_) reserve(bytes);
  } catch (...) {
    set_direct(was_direct);
    throw;
  }
  if (bytes < size_ && ::ftruncate(descriptor_, bytes.count) != 0) {
    throw failure(folder_, fmt::format("SSD data cannot give room back: {}", std::strerror(errno)));
  }
  size_ = bytes;
  set_direct(direct);
  if (!direct_) ::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_RANDOM);  // whole buffers are asked for: no read-ahead
}

void DriveFile::set_direct(bool direct) {
  const int flags = ::fcntl(descriptor_, F_GETFL);
  const int wanted = direct ? flags | O_DIRECT : flags & ~O_DIRECT;
  direct_ = ::fcntl(descriptor_, F_SETFL, wanted) == 0 && direct;
  if (direct_ && !takes_direct_reads()) direct_ = ::fcntl(descriptor_, F_SETFL, flags & ~O_DIRECT) != 0;
}

void DriveFile::reserve(Bytes bytes) {
  if (bytes > largest_file()) {
    throw failure(folder_, fmt::format("SSD data needs a file of {}, but this process may write files of {} at most",
                                       to_text(bytes), to_text(largest_file())));
  }
  const Bytes missing = bytes - size_;
  file_system_ = checked(folder_, missing);
  int problem = EINTR;
  while (problem == EINTR) problem = ::posix_fallocate(descriptor_, size_.count, missing.count);
  if (problem == 0) return;
  throw failure(folder_, fmt::format("SSD data needs {} ({} bytes), {} is free: {}", to_text(missing), missing.count,
                                     to_text(file_system_.free), std::strerror(problem)));
}

}  // namespace plimsoll
