#include "formats/text/read_text_file.h"

#include <fmt/format.h>

#include <fstream>
#include <system_error>

namespace plimsoll {
namespace {

Error too_large(const std::string& where, Bytes limit) {
  return {.kind = ErrorKind::kInput, .what = fmt::format("the file is larger than {}", to_text(limit)), .where = where, .remedy = {}};
}

}  // namespace

Result<std::string> read_text_file(const std::filesystem::path& path, Bytes limit) {
  const std::string where = path.string();
  std::error_code problem;
  const auto status = std::filesystem::status(path, problem);
  if (problem == std::errc::permission_denied) {
    return fail({.kind = ErrorKind::kInput, .what = "a folder on the way may not be entered", .where = where, .remedy = {}});
  }
  if (!std::filesystem::exists(status)) {
    return fail({.kind = ErrorKind::kInput, .what = "no such file", .where = where, .remedy = {}});
  }
  if (!std::filesystem::is_regular_file(status)) {
    return fail({.kind = ErrorKind::kInput, .what = "not a regular file", .where = where, .remedy = {}});
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return fail({.kind = ErrorKind::kInput, .what = "the file cannot be opened for reading", .where = where, .remedy = {}});
  }
  const auto said = std::filesystem::file_size(path, problem);
  if (!problem && said > static_cast<std::uintmax_t>(limit.count)) return fail(too_large(where, limit));
  std::string text;
  if (!problem) text.reserve(said);
  // What is read is compared all the same: the size of a file such as /proc/… says 0.
  char piece[1 << 16];
  while (file.read(piece, sizeof piece) || file.gcount() > 0) {
    text.append(piece, static_cast<std::size_t>(file.gcount()));
    if (Bytes(static_cast<std::int64_t>(text.size())) > limit) return fail(too_large(where, limit));
  }
  if (file.bad()) {
    throw EnvironmentError({.kind = ErrorKind::kEnvironment, .what = "reading failed", .where = where, .remedy = {}});
  }
  return text;
}

}  // namespace plimsoll
