#pragma once

#include <string>
#include <vector>

#include "formats/exporters/exported_training.h"

namespace plimsoll {

/// "# plimsoll export …": what a text for a format with comments begins with: where it is from, what was foretold, and
/// the notes.
std::string heading(const ExportedTraining& training, std::string_view target, const std::vector<std::string>& notes);

/// Lines "key: value" or "key = value", and sections, one below the other; values stand as they are given.
class KeyedLines {
 public:
  explicit KeyedLines(std::string separator) : separator_(std::move(separator)) {}

  KeyedLines& section(std::string_view line) { return add(line); }
  KeyedLines& raw(std::string_view key, std::string_view value) {
    return add(std::string(key) + separator_ + std::string(value));
  }
  KeyedLines& text(std::string_view key, std::string_view value);
  KeyedLines& flag(std::string_view key, bool value) { return raw(key, value ? "true" : "false"); }
  KeyedLines& integer(std::string_view key, std::int64_t value) { return raw(key, std::to_string(value)); }
  /// A number that reads back as the same double, with a point or an exponent so that no reader takes it for an
  /// integer.
  KeyedLines& number(std::string_view key, double value);
  /// What follows stands `spaces` further right than the margin.
  KeyedLines& indent(std::size_t spaces) {
    indent_ = spaces;
    return *this;
  }
  [[nodiscard]] const std::string& str() const { return lines_; }

 private:
  KeyedLines& add(std::string_view line);

  std::string separator_;
  std::size_t indent_ = 0;
  std::string lines_;
};

}  // namespace plimsoll
