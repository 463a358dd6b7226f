#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "formats/chat/value.h"
#include "formats/tokenizers/utf8.h"

namespace plimsoll::chat {
namespace {

/// The shortest digits that read back the same, in Python's form: 1.0, 0.001, 1e-05, 1e+16.
std::string real_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  const double size = std::fabs(value);
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e16);
  char digits[64];
  const auto end = std::to_chars(digits, digits + sizeof digits, value,
                                 plain ? std::chars_format::fixed : std::chars_format::scientific);
  std::string text(digits, end.ptr);
  if (plain && text.find('.') == std::string::npos) text += ".0";
  return text;
}

/// Python's repr of a string: in single quotes unless it holds those and no double ones.
std::string quoted(std::string_view text) {
  const char quote = text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string out(1, quote);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == quote || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + quote;
}

/// json.dumps with ensure_ascii=False: only what JSON demands is escaped.
std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      case '\b': out += "\\b"; break;
      case '\f': out += "\\f"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
        } else {
          out += c;
        }
    }
  }
  return out + '"';
}

/// What stands between items, before the first and behind the last.
struct Layout {
  std::string open;
  std::string between;
  std::string close;
};

Layout layout_of(std::int64_t indent, std::int64_t depth) {
  if (indent < 0) return {.open = "", .between = ", ", .close = ""};
  const auto spaces = [&](std::int64_t levels) { return "\n" + std::string(static_cast<std::size_t>(levels * indent), ' '); };
  return {.open = spaces(depth + 1), .between = "," + spaces(depth + 1), .close = spaces(depth)};
}

std::string json_of(const Value& value, std::int64_t indent, std::int64_t depth) {
  const Layout layout = layout_of(indent, depth);
  std::string inside;
  const auto add = [&](const std::string& item) { inside += (inside.empty() ? layout.open : layout.between) + item; };
  if (const auto* list = value.list()) {
    for (const Value& element : *list) add(json_of(element, indent, depth + 1));
    return inside.empty() ? "[]" : "[" + inside + layout.close + "]";
  }
  if (const auto* dict = value.dict()) {
    for (const auto& [key, entry] : dict->entries) add(json_string(key) + ": " + json_of(entry, indent, depth + 1));
    return inside.empty() ? "{}" : "{" + inside + layout.close + "}";
  }
  if (const auto* text = value.text()) return json_string(*text);
  if (const auto* flag = value.get<bool>()) return *flag ? "true" : "false";
  if (value.is_none()) return "null";
  if (value.is_number()) return to_text(value);
  throw TemplateError(fmt::format("JSON cannot hold {}", value.kind()));
}

}  // namespace

std::string to_text(const Value& value) {
  if (const auto* text = value.text()) return *text;
  return value.is_undefined() ? "" : to_repr(value);
}

std::string to_repr(const Value& value) {
  if (const auto* text = value.text()) return quoted(*text);
  if (const auto* flag = value.get<bool>()) return *flag ? "True" : "False";
  if (const auto* number = value.get<std::int64_t>()) return std::to_string(*number);
  if (const auto* number = value.get<double>()) return real_text(*number);
  if (value.is_none()) return "None";
  std::string inside;
  const auto add = [&](const std::string& item) { inside += (inside.empty() ? "" : ", ") + item; };
  if (const auto* list = value.list()) {
    for (const Value& element : *list) add(to_repr(element));
    return "[" + inside + "]";
  }
  if (const auto* dict = value.dict()) {
    for (const auto& [key, entry] : dict->entries) add(quoted(key) + ": " + to_repr(entry));
    return "{" + inside + "}";
  }
  return value.is_undefined() ? "Undefined" : "<macro>";
}

std::string to_json_text(const Value& value, std::int64_t indent) { return json_of(value, indent, 0); }

}  // namespace plimsoll::chat
