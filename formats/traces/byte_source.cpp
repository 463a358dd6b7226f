#include "formats/traces/byte_source.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace plimsoll {
namespace {

constexpr unsigned kUnpackBuffer = 1u << 18;
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;

}  // namespace

void ByteSource::Close::operator()(gzFile_s* file) const { gzclose(file); }

Result<ByteSource> ByteSource::open(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) {
    const bool folder = std::filesystem::is_directory(path, ignored);
    return fail({.kind = ErrorKind::kInput, .what = folder ? "this is a folder" : "there is no such file", .where = path, .remedy = {}});
  }
  errno = 0;
  gzFile_s* const file = gzopen(path.c_str(), "rb");
  if (file == nullptr) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "cannot be opened: " + std::system_category().message(errno),
                 .where = path,
                 .remedy = {}});
  }
  gzbuffer(file, kUnpackBuffer);
  return ByteSource(path, file);
}

std::size_t ByteSource::read(char* out, std::size_t size) {
  const int got = gzread(file_.get(), out, static_cast<unsigned>(std::min(size, kMostAtOnce)));
  int code = Z_OK;
  const std::string words = gzerror(file_.get(), &code);
  // A packed file that was cut off gives its last bytes first, and then says so.
  if (got > 0 || (got == 0 && code == Z_OK)) {
    given_ += got;
    return static_cast<std::size_t>(got);
  }
  const bool content = code == Z_BUF_ERROR || code == Z_DATA_ERROR;
  std::string what = "cannot be read: " + words.substr(words.starts_with(path_ + ": ") ? path_.size() + 2 : 0);
  if (code == Z_BUF_ERROR) what = "the packed file is cut off";
  throw EnvironmentError({.kind = content ? ErrorKind::kInput : ErrorKind::kEnvironment,
                          .what = std::move(what),
                          .where = fmt::format("{}, byte {} unpacked", path_, given_),
                          .remedy = content ? "copy the file again from where it was made" : ""});
}

}  // namespace plimsoll
