#include "executor/tiers/drive_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <random>

namespace plimsoll {
namespace {

Error refusal(const std::string& folder, std::string what) {
  return {.kind = ErrorKind::kEnvironment,
          .what = std::move(what),
          .where = folder,
          .remedy = "name a folder on a local drive with --ssd-folder"};
}

}  // namespace

int open_nameless_file(const std::string& folder) {
  const int made = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (made >= 0) return made;
  std::string name = folder + "/plimsoll-ssd-XXXXXX";
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named < 0) {
    throw EnvironmentError(refusal(folder, fmt::format("cannot make a file for SSD data: {}", std::strerror(errno))));
  }
  ::unlink(name.c_str());
  return named;
}

NameForNow::NameForNow(int descriptor, const std::string& folder) {
  std::random_device random;
  const std::string from = fmt::format("/proc/self/fd/{}", descriptor);
  do {
    path_ = fmt::format("{}/plimsoll-ssd-{:08x}", folder, random());
    if (::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) == 0) return;
  } while (errno == EEXIST);
  throw EnvironmentError(refusal(folder, fmt::format("cannot name a file of SSD data, as direct storage needs: {}", std::strerror(errno))));
}

NameForNow::~NameForNow() { ::unlink(path_.c_str()); }

Result<FileSystem> check_drive_folder(const std::string& folder, Bytes needed) {
  try {
    const FileSystem system = file_system_of(folder);
    struct stat found {};
    if (::stat(folder.c_str(), &found) == 0 && !S_ISDIR(found.st_mode)) {
      return fail(refusal(folder, "SSD data needs a folder, and this is a file"));
    }
    if (system.read_only) {
      return fail(refusal(folder, fmt::format("SSD data cannot go here: {} is mounted read-only", system.name)));
    }
    if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
      return fail(refusal(folder, fmt::format("SSD data cannot go here: {}", std::strerror(errno))));
    }
    if (needed > system.free) {
      Error error =
          refusal(folder, fmt::format("SSD data needs {} ({} bytes), {} is free: {} are missing", to_text(needed),
                                      needed.count, to_text(system.free), to_text(needed - system.free)));
      error.remedy = "free room there, or name another folder with --ssd-folder";
      return fail(error);
    }
    ::close(open_nameless_file(folder));
    return system;
  } catch (const EnvironmentError& error) {
    return fail(error.error());
  }
}

}  // namespace plimsoll
