#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/base/result.h"

struct gzFile_s;

namespace plimsoll {

/// The bytes of a file one after another, unpacked where it is packed with gzip. Holds a window, never the file.
class ByteSource {
 public:
  static Result<ByteSource> open(const std::string& path);

  /// Fills up to `size` bytes; 0 at the end. Throws EnvironmentError (kInput when the packed data is damaged or
  /// cut off), which says how many bytes came out before.
  std::size_t read(char* out, std::size_t size);
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(gzFile_s* file) const;
  };
  ByteSource(std::string path, gzFile_s* file) : path_(std::move(path)), file_(file) {}

  std::string path_;
  std::int64_t given_ = 0;  ///< bytes, unpacked
  std::unique_ptr<gzFile_s, Close> file_;
};

}  // namespace plimsoll
