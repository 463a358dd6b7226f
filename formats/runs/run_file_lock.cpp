#include "formats/runs/run_file_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace plimsoll {
namespace {

tl::unexpected<Error> refused(const std::string& run_file, std::string what, std::string remedy) {
  return fail(
      {.kind = ErrorKind::kEnvironment, .what = std::move(what), .where = run_file, .remedy = std::move(remedy)});
}

/// The same file for every name that leads to the run file.
std::string lock_of(const std::string& run_file) {
  std::error_code problem;
  const auto real = std::filesystem::weakly_canonical(run_file, problem);
  return (problem ? run_file : real.string()) + ".lock";
}

/// Whether the descriptor's file still has that name: its holder removes it before the lock goes.
bool is_still_there(int descriptor, const std::string& path) {
  struct stat held {};
  struct stat named {};
  return ::fstat(descriptor, &held) == 0 && ::stat(path.c_str(), &named) == 0 && held.st_ino == named.st_ino &&
         held.st_dev == named.st_dev;
}

std::string holder_of(int descriptor) {
  std::array<char, 32> text{};
  const ssize_t got = ::pread(descriptor, text.data(), text.size(), 0);
  return got > 0 ? fmt::format(" (process {})", std::string(text.data(), static_cast<std::size_t>(got))) : "";
}

void write_holder(int descriptor) {
  const std::string text = std::to_string(::getpid());
  const bool written = ::ftruncate(descriptor, 0) == 0 &&
                       ::pwrite(descriptor, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
  static_cast<void>(written);  // the number is only for people; the lock holds without it
}

}  // namespace

Result<RunFileLock> RunFileLock::acquire(const std::string& run_file) {
  const std::string path = lock_of(run_file);
  while (true) {
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor < 0) {
      return refused(run_file, fmt::format("the lock file {} cannot be made: {}", path, std::strerror(errno)),
                     "choose a folder that may be written");
    }
    if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      const int problem = errno;
      const std::string holder = holder_of(descriptor);
      ::close(descriptor);
      if (problem == EINTR) continue;
      if (problem != EWOULDBLOCK) {
        return refused(run_file, fmt::format("cannot be locked: {}", std::strerror(problem)),
                       "choose a folder on a local drive");
      }
      return refused(run_file, fmt::format("another run{} is writing this run file", holder),
                     "wait for it to end, or choose another -o");
    }
    if (is_still_there(descriptor, path)) {
      write_holder(descriptor);
      return RunFileLock(path, descriptor);
    }
    ::close(descriptor);  // its holder has just ended
  }
}

RunFileLock::RunFileLock(RunFileLock&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

RunFileLock::~RunFileLock() {
  if (descriptor_ < 0) return;
  ::unlink(path_.c_str());
  ::close(descriptor_);
}

}  // namespace plimsoll
