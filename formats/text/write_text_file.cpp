#include "formats/text/write_text_file.h"

#include <string>

#include "formats/text/open_file.h"

namespace plimsoll {
namespace {

/// Removes the temporary file unless the rename took it away.
struct Temporary {
  std::filesystem::path path;
  ~Temporary() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
};

}  // namespace

void write_text_file(const std::filesystem::path& path, std::string_view text) {
  Temporary temporary{path.string() + ".tmp"};
  {
    OpenFile file = OpenFile::for_writing(temporary.path);
    file.append(std::as_bytes(std::span(text)));
    file.sync();
  }
  std::error_code problem;
  std::filesystem::rename(temporary.path, path, problem);
  if (problem) {
    throw EnvironmentError({.kind = ErrorKind::kEnvironment,
                            .what = "the finished file cannot be renamed into place: " + problem.message(),
                            .where = path.string(),
                            .remedy = {}});
  }
  sync_directory(path.parent_path());
}

}  // namespace plimsoll
