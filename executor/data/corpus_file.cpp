#include "executor/data/corpus_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/error.h"

namespace plimsoll {
namespace {

[[noreturn]] void fail_with(const std::string& path, std::string what) {
  throw EnvironmentError({.kind = ErrorKind::kEnvironment, .what = std::move(what), .where = path, .remedy = {}});
}

}  // namespace

CorpusFile::CorpusFile(std::string path)
    : path_(std::move(path)), descriptor_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ < 0) fail_with(path_, fmt::format("cannot open the corpus: {}", std::strerror(errno)));
  struct stat status {};
  const bool usable = ::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
  if (!usable) {
    ::close(descriptor_);
    fail_with(path_, "the corpus is not a regular file");
  }
  size_ = status.st_size;
}

CorpusFile::~CorpusFile() { ::close(descriptor_); }

void CorpusFile::read(std::int64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got = ::pread(descriptor_, out.data(), out.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      fail_with(path_, fmt::format("reading the corpus at byte {} failed: {}", offset, std::strerror(errno)));
    if (got == 0) fail_with(path_, fmt::format("the corpus became shorter than {} bytes while it was in use", size_));
    out = out.subspan(static_cast<std::size_t>(got));
    offset += got;
  }
}

}  // namespace plimsoll
