#include "executor/checkpoint/new_folder.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "formats/text/open_file.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void throw_error(std::string_view what, const std::error_code& problem, const fs::path& path) {
  throw EnvironmentError({.kind = ErrorKind::kEnvironment,
                          .what = fmt::format("{}: {}", what, problem.message()),
                          .where = path.string(),
                          .remedy = {}});
}

/// "a/b/" means "a/b".
fs::path without_slash(const fs::path& path) { return path.has_filename() ? path : path.parent_path(); }

fs::path parent_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

}  // namespace

NewFolder::NewFolder(fs::path path) : path_(without_slash(path)) {
  std::string pattern = (parent_of(path_) / ("." + path_.filename().string() + ".XXXXXX")).string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    throw_error("no folder can be made beside it", {errno, std::system_category()}, path_);
  }
  hidden_ = pattern;
  constexpr ::mode_t kUsual = 0777;
  const ::mode_t mask = ::umask(0);
  ::umask(mask);
  ::chmod(pattern.c_str(), kUsual & ~mask);  // mkdtemp's is for its user alone
}

NewFolder::~NewFolder() {
  std::error_code ignored;  // a destructor must not throw, and a leftover is only a leftover
  if (!hidden_.empty()) fs::remove_all(hidden_, ignored);
}

void NewFolder::finish() {
  sync_directory(hidden_);
  std::error_code problem;
  fs::rename(hidden_, path_, problem);
  if (problem) throw_error("the finished folder cannot be renamed into place", problem, path_);
  hidden_.clear();
  sync_directory(parent_of(path_));
}

Result<void> check_new_folder(const fs::path& path) {
  const auto refused = [&](ErrorKind kind, std::string what, std::string remedy) {
    return fail({.kind = kind, .what = std::move(what), .where = path.string(), .remedy = std::move(remedy)});
  };
  const fs::path parent = parent_of(without_slash(path));
  if (::access(parent.c_str(), W_OK | X_OK) != 0) {
    return refused(ErrorKind::kEnvironment,
                   fmt::format("nothing can be written into the folder {}: {}", parent.string(),
                               std::system_category().message(errno)),
                   "choose a folder that exists and may be written");
  }
  std::error_code problem;
  const fs::file_status status = fs::symlink_status(without_slash(path), problem);
  if (!fs::exists(status)) return {};
  if (!fs::is_directory(status)) return refused(ErrorKind::kInput, "this is no folder", "name a new folder, or a .safetensors file");
  if (fs::is_empty(path, problem) && !problem) return {};
  return refused(ErrorKind::kInput, "the folder is not empty", "name a new one");
}

}  // namespace plimsoll
