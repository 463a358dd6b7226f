#include "formats/text/json_text.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace plimsoll {

std::string json_quote(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::vector<std::string> json_texts(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) quoted.push_back(json_quote(text));
  return quoted;
}

std::string json_number(double value) {
  if (!std::isfinite(value)) return "null";
  if (value == 0) return std::signbit(value) ? "-0.0" : "0";  // "-0" would be read as the integer 0
  return fmt::format("{}", value);
}

std::string json_number_17(double value) { return std::isfinite(value) ? fmt::format("{:.17g}", value) : "null"; }

std::string json_list(const std::vector<std::string>& items) { return fmt::format("[{}]", fmt::join(items, ", ")); }

std::string json_lines(const std::vector<std::string>& items, std::size_t indent) {
  if (items.empty()) return "[]";
  const std::string margin(indent, ' ');
  return fmt::format("[\n{0}  {1}\n{0}]", margin, fmt::join(items, ",\n" + margin + "  "));
}

JsonLine& JsonLine::raw(std::string_view key, std::string_view json) {
  if (!fields_.empty()) fields_ += ", ";
  fields_ += json_quote(key);
  fields_ += ": ";
  fields_ += json;
  return *this;
}

}  // namespace plimsoll
