#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace plimsoll {

/// A file opened for positioned reads. Reads copy through the page cache instead of mapping, so that a file which
/// shrinks under a running job becomes an error and not a SIGBUS, and the corpus takes no memory that the plan does not
/// know.
class CorpusFile {
 public:
  /// Throws EnvironmentError when the file cannot be opened or is no regular file.
  explicit CorpusFile(std::string path);
  ~CorpusFile();
  CorpusFile(const CorpusFile&) = delete;
  CorpusFile& operator=(const CorpusFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Bytes when it was opened.
  [[nodiscard]] std::int64_t size() const { return size_; }
  /// Fills `out` from byte `offset` on, from any thread; throws EnvironmentError when the file has become too short.
  void read(std::int64_t offset, std::span<std::byte> out) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
};

}  // namespace plimsoll
