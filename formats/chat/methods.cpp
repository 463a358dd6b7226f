#include <fmt/format.h>

#include <algorithm>

#include "formats/chat/arguments.h"
#include "formats/tokenizers/utf8.h"
#include "formats/tokenizers/white_space.h"

namespace plimsoll::chat {
namespace {

/// True when the character at `at` is one of `cut`, or white space when there are none.
bool is_cut(std::string_view text, std::size_t at, std::string_view cut) {
  if (cut.empty()) return is_white_space(utf8_at(text, at)) || (text[at] >= 0x1C && text[at] <= 0x1F);
  return cut.find(text.substr(at, utf8_length(text[at]))) != std::string_view::npos;
}

List split(std::string_view text, std::string_view mark, std::int64_t most) {
  if (mark.empty()) throw TemplateError("an empty separator");
  List parts;
  for (std::size_t found = text.find(mark); found != std::string_view::npos && most != 0; found = text.find(mark), --most) {
    parts.emplace_back(std::string(text.substr(0, found)));
    text.remove_prefix(found + mark.size());
  }
  parts.emplace_back(std::string(text));
  return parts;
}

List split_at_spaces(std::string_view text, std::int64_t most) {
  List parts;
  text = text.substr(text.size() - stripped(text, true, false).size());
  while (!text.empty()) {
    std::size_t end = 0;
    while (end < text.size() && !is_cut(text, end, {})) end += utf8_length(text[end]);
    if (most-- == 0) end = stripped(text, false, true).size();
    parts.emplace_back(std::string(text.substr(0, end)));
    text.remove_prefix(end);
    text = text.substr(text.size() - stripped(text, true, false).size());
  }
  return parts;
}

std::string replaced(std::string_view text, const std::string& from, const std::string& to, std::int64_t most) {
  std::string out;
  while (!from.empty() && most-- != 0) {
    const std::size_t found = text.find(from);
    if (found == std::string_view::npos) break;
    out.append(text.substr(0, found)).append(to);
    text.remove_prefix(found + from.size());
  }
  return out.append(text);
}

/// An affix, or any of a list of them.
bool has_affix(const std::string& text, const Value& affix, bool at_start) {
  if (affix.list()) {
    return std::any_of(affix.list()->begin(), affix.list()->end(),
                       [&](const Value& one) { return has_affix(text, one, at_start); });
  }
  if (!affix.text()) throw TemplateError("a string was expected, found " + affix.kind());
  return at_start ? text.starts_with(*affix.text()) : text.ends_with(*affix.text());
}

std::int64_t limit(const Arguments& arguments, std::size_t index, std::string_view name) {
  const Value* given = arguments.find(index, name);
  return given == nullptr ? -1 : given->integer();
}

std::optional<Value> of_text(const std::string& text, const std::string& name, const Arguments& arguments) {
  const Value* first = arguments.find(0);
  const bool cuts = name == "strip" || name == "lstrip" || name == "rstrip";
  if (cuts) {
    const bool given = first != nullptr && !first->is_none();
    return stripped(text, name != "rstrip", name != "lstrip", given ? std::string_view(arguments.text(0)) : std::string_view());
  }
  if (name == "startswith" || name == "endswith") return has_affix(text, arguments.need(0), name == "startswith");
  if (name == "split") {
    const std::int64_t most = limit(arguments, 1, "maxsplit");
    return first == nullptr || first->is_none() ? split_at_spaces(text, most) : split(text, arguments.text(0, "sep"), most);
  }
  if (name == "splitlines") return split(stripped(text, false, true, "\n"), "\n", -1);
  if (name == "replace") return replaced(text, arguments.text(0), arguments.text(1), limit(arguments, 2, "count"));
  if (name == "find") {
    const std::size_t found = text.find(arguments.text(0));
    if (found == std::string::npos) return std::int64_t{-1};
    return static_cast<std::int64_t>(characters_of(std::string_view(text).substr(0, found)).size());
  }
  if (name == "count") return static_cast<std::int64_t>(split(text, arguments.text(0), -1).size()) - 1;
  if (name == "join") return apply_filter("join", arguments.need(0), {.values = {text}, .named = {}});
  if (name == "removeprefix" && first) return text.starts_with(arguments.text(0)) ? text.substr(first->text()->size()) : text;
  if (name == "removesuffix" && first) {
    return text.ends_with(arguments.text(0)) ? text.substr(0, text.size() - first->text()->size()) : text;
  }
  if (name == "isdigit") return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  for (const char* filter : {"upper", "lower", "capitalize", "title"}) {
    if (name == filter) return apply_filter(name, text, {});
  }
  return std::nullopt;
}

std::optional<Value> of_dict(const Dict& dict, const std::string& name, const Arguments& arguments) {
  if (name == "get") {
    const Value* key = arguments.find(0);
    const Value* found = key != nullptr && key->text() ? dict.find(*key->text()) : nullptr;
    if (found != nullptr) return *found;
    return arguments.find(1) ? *arguments.find(1) : Value(None{});
  }
  if (name != "items" && name != "keys" && name != "values") return std::nullopt;
  List list;
  for (const auto& [key, value] : dict.entries) {
    if (name == "items") {
      list.emplace_back(List{key, value});
    } else {
      list.push_back(name == "keys" ? Value(key) : value);
    }
  }
  return Value(std::move(list));
}

}  // namespace

std::string stripped(std::string_view text, bool left, bool right, std::string_view cut) {
  std::size_t begin = 0;
  while (left && begin < text.size() && is_cut(text, begin, cut)) begin += utf8_length(text[begin]);
  std::size_t end = text.size();
  while (right && end > begin) {
    std::size_t last = end - 1;
    while (last > begin && (static_cast<unsigned char>(text[last]) & 0xC0) == 0x80) --last;
    if (!is_cut(text, last, cut)) break;
    end = last;
  }
  return std::string(text.substr(begin, end - begin));
}

std::optional<Value> call_method(const Value& value, const std::string& name, const Arguments& arguments) {
  if (value.text()) return of_text(*value.text(), name, arguments);
  if (value.dict()) return of_dict(*value.dict(), name, arguments);
  return std::nullopt;
}

}  // namespace plimsoll::chat
