#include "formats/corpus/line_reader.h"

#include <algorithm>
#include <span>

namespace plimsoll {
namespace {

constexpr std::int64_t kPiece = std::int64_t{1} << 20;

}  // namespace

/// Drops the lines that were handed out and reads another piece.
bool LineReader::fill() {
  const std::int64_t count = std::min(kPiece, (size_ - read_).count);
  if (count == 0) return false;
  buffer_.erase(0, at_);
  at_ = 0;
  const std::size_t old = buffer_.size();
  buffer_.resize(old + static_cast<std::size_t>(count));
  file_.read_at(read_, std::as_writable_bytes(std::span(buffer_).subspan(old)));
  read_ += Bytes(count);
  return true;
}

void LineReader::skip_line() {
  while (true) {
    const std::size_t end = buffer_.find('\n', at_);
    if (end != std::string::npos) {
      at_ = end + 1;
      return;
    }
    at_ = buffer_.size();
    if (!fill()) return;
  }
}

std::optional<Line> LineReader::next() {
  std::size_t searched = at_;
  std::size_t end = buffer_.find('\n', searched);
  while (end == std::string::npos) {
    searched = buffer_.size() - at_;
    if (searched > kLongestLine) {
      skip_line();
      return Line{.number = ++number_, .text = {}, .too_long = true};
    }
    if (!fill()) break;
    end = buffer_.find('\n', searched);
  }
  if (end == std::string::npos && at_ == buffer_.size()) return std::nullopt;
  const std::size_t stop = std::min(end, buffer_.size());
  std::string_view text = std::string_view(buffer_).substr(at_, stop - at_);
  if (text.ends_with('\r')) text.remove_suffix(1);
  at_ = std::min(stop + 1, buffer_.size());
  return Line{.number = ++number_, .text = text};
}

}  // namespace plimsoll
