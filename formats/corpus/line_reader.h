#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "formats/text/open_file.h"

namespace plimsoll {

/// A line of a file and its number, from 1 on.
struct Line {
  std::int64_t number = 0;
  std::string_view text;  ///< without its end; valid until the next line is read
  bool too_long = false;  ///< beyond kLongestLine: its text is not kept
};

/// Reads a file line by line through a buffer of fixed size, so that a file of any size takes little memory.
class LineReader {
 public:
  static constexpr std::size_t kLongestLine = std::size_t{64} << 20;

  explicit LineReader(OpenFile file) : file_(std::move(file)), size_(file_.size()) {}

  /// Nothing at the file's end.
  std::optional<Line> next();
  /// Bytes read so far.
  [[nodiscard]] Bytes position() const { return read_; }
  [[nodiscard]] Bytes size() const { return size_; }

 private:
  bool fill();
  void skip_line();

  OpenFile file_;
  Bytes size_;
  Bytes read_;
  std::string buffer_;
  std::size_t at_ = 0;  ///< where the next line begins in the buffer
  std::int64_t number_ = 0;
};

}  // namespace plimsoll
