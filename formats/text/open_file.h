#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>

#include "core/base/quantity.h"
#include "core/base/result.h"

namespace plimsoll {

/// A file descriptor that closes itself. Failing calls throw EnvironmentError with the system's words.
class OpenFile {
 public:
  /// Opens an existing regular file for reading; a file that cannot be opened is an input error.
  static Result<OpenFile> for_reading(const std::filesystem::path& path);
  /// Creates `path` empty for writing.
  static OpenFile for_writing(const std::filesystem::path& path);
  /// Opens `path` to write over what it holds from its start on; made when it is not there.
  static OpenFile for_overwriting(const std::filesystem::path& path);

  OpenFile(OpenFile&& other) noexcept : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  OpenFile& operator=(OpenFile&&) = delete;
  ~OpenFile();

  [[nodiscard]] Bytes size() const;
  /// Fills `out` from `offset`, or throws: the caller has checked the size.
  void read_at(Bytes offset, std::span<std::byte> out) const;
  /// The same file once more, read past the page cache; nothing where the file system has no such way.
  [[nodiscard]] std::optional<OpenFile> past_page_cache() const;
  /// Fills at least `needed` of `blocks`, whose address, size and `offset` are multiples of 4 KiB; false where the way past the
  /// page cache is refused after all.
  [[nodiscard]] bool read_whole_blocks(Bytes offset, std::span<std::byte> blocks, Bytes needed) const;
  void append(std::span<const std::byte> data);
  /// Writes over bytes from `offset` on; what `append` writes next does not move.
  void write_at(Bytes offset, std::span<const std::byte> data);
  /// Cuts or extends the file.
  void resize(Bytes size);
  /// Waits until the data is on the disk.
  void sync();

 private:
  OpenFile(std::filesystem::path path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::filesystem::path path_;
  int descriptor_ = -1;
};

/// Makes renames within `directory` durable.
void sync_directory(const std::filesystem::path& directory);

}  // namespace plimsoll
