#include "formats/text/open_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace plimsoll {
namespace {

[[noreturn]] void throw_system_error(std::string_view doing, const std::filesystem::path& path) {
  throw EnvironmentError({.kind = ErrorKind::kEnvironment,
                          .what = fmt::format("{}: {}", doing, std::system_category().message(errno)),
                          .where = path.string(),
                          .remedy = {}});
}

}  // namespace

Result<OpenFile> OpenFile::for_reading(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a named pipe must not wait for a writer; it has no effect on regular files.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "the file cannot be opened: " + std::system_category().message(errno),
                 .where = path.string(),
                 .remedy = {}});
  }
  OpenFile file(path, descriptor);
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0) throw_system_error("stat", path);
  if (!S_ISREG(status.st_mode)) {
    return fail({.kind = ErrorKind::kInput, .what = "not a regular file", .where = path.string(), .remedy = {}});
  }
  return file;
}

OpenFile OpenFile::for_writing(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) throw_system_error("cannot create the file", path);
  return {path, descriptor};
}

OpenFile OpenFile::for_overwriting(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) throw_system_error("cannot open the file for writing", path);
  return {path, descriptor};
}

OpenFile::~OpenFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Bytes OpenFile::size() const {
  struct stat status = {};
  if (::fstat(descriptor_, &status) != 0) throw_system_error("stat", path_);
  return Bytes(status.st_size);
}

std::optional<OpenFile> OpenFile::past_page_cache() const {
  const int descriptor = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_DIRECT);
  if (descriptor < 0) return std::nullopt;
  return OpenFile(path_, descriptor);
}

bool OpenFile::read_whole_blocks(Bytes offset, std::span<std::byte> blocks, Bytes needed) const {
  std::size_t filled = 0;
  while (filled < static_cast<std::size_t>(needed.count)) {
    const ssize_t count = ::pread(descriptor_, blocks.data() + filled, blocks.size() - filled,
                                  offset.count + static_cast<std::int64_t>(filled));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;  // the plain way says what is wrong, if anything
    filled += static_cast<std::size_t>(count);
  }
  return true;
}

void OpenFile::read_at(Bytes offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t count = ::pread(descriptor_, out.data(), out.size(), offset.count);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_system_error("read", path_);
    if (count == 0) {
      throw EnvironmentError({.kind = ErrorKind::kEnvironment,
                              .what = fmt::format("the file ends at byte {}: it was cut while it was read", offset.count),
                              .where = path_.string(),
                              .remedy = {}});
    }
    out = out.subspan(static_cast<std::size_t>(count));
    offset += Bytes(count);
  }
}

void OpenFile::append(std::span<const std::byte> data) {
  while (!data.empty()) {
    const ssize_t count = ::write(descriptor_, data.data(), data.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_system_error("write", path_);
    data = data.subspan(static_cast<std::size_t>(count));
  }
}

void OpenFile::write_at(Bytes offset, std::span<const std::byte> data) {
  while (!data.empty()) {
    const ssize_t count = ::pwrite(descriptor_, data.data(), data.size(), offset.count);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_system_error("write", path_);
    data = data.subspan(static_cast<std::size_t>(count));
    offset += Bytes(count);
  }
}

void OpenFile::resize(Bytes size) {
  if (::ftruncate(descriptor_, size.count) != 0) throw_system_error("ftruncate", path_);
}

void OpenFile::sync() {
  if (::fsync(descriptor_) != 0) throw_system_error("fsync", path_);
}

void sync_directory(const std::filesystem::path& directory) {
  const std::filesystem::path named = directory.empty() ? std::filesystem::path(".") : directory;
  const int descriptor = ::open(named.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) throw_system_error("open", named);
  const int outcome = ::fsync(descriptor);
  const int why = errno;
  ::close(descriptor);
  errno = why;
  if (outcome != 0 && why != EINVAL) throw_system_error("fsync", named);  // EINVAL: this file system has no such notion
}

}  // namespace plimsoll
