#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

/// `text` as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD.
std::string json_quote(std::string_view text);

/// The shortest text that reads back as the same double; infinities and NaN, which JSON does not know, become null.
std::string json_number(double value);

/// `value` with 17 significant digits (losses), or null.
std::string json_number_17(double value);

/// Each of the texts as a JSON string.
std::vector<std::string> json_texts(const std::vector<std::string>& texts);

/// Items, which are JSON already, as `[a, b]` on one line.
std::string json_list(const std::vector<std::string>& items);

/// Items, which are JSON already, one a line: `[`, each item after `indent` + 2 spaces, `]` after `indent` spaces.
std::string json_lines(const std::vector<std::string>& items, std::size_t indent);

/// An object written on one line, `{"a": 1, "b": "x"}`, its keys in the order in which they are added.
class JsonLine {
 public:
  JsonLine& text(std::string_view key, std::string_view value) { return raw(key, json_quote(value)); }
  JsonLine& integer(std::string_view key, std::int64_t value) { return raw(key, std::to_string(value)); }
  JsonLine& number(std::string_view key, double value) { return raw(key, json_number(value)); }
  JsonLine& flag(std::string_view key, bool value) { return raw(key, value ? "true" : "false"); }
  /// Adds a value that is JSON already.
  JsonLine& raw(std::string_view key, std::string_view json);
  [[nodiscard]] std::string str() const { return "{" + fields_ + "}"; }

 private:
  std::string fields_;
};

}  // namespace plimsoll
