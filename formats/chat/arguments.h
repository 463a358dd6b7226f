#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/chat/value.h"

namespace plimsoll::chat {

/// What a call, a filter or a test is given, besides the value that it works on.
struct Arguments {
  List values;
  std::vector<std::pair<std::string, Value>> named;

  /// The argument at `index`, or of that name; null when it was not given.
  [[nodiscard]] const Value* find(std::size_t index, std::string_view name = {}) const {
    if (index < values.size()) return &values[index];
    for (const auto& [key, value] : named) {
      if (!name.empty() && key == name) return &value;
    }
    return nullptr;
  }

  [[nodiscard]] const Value& need(std::size_t index, std::string_view name = {}) const {
    const Value* found = find(index, name);
    if (found == nullptr) throw TemplateError("an argument is missing");
    return *found;
  }

  /// A string; TemplateError for anything else.
  [[nodiscard]] const std::string& text(std::size_t index, std::string_view name = {}) const {
    const Value& value = need(index, name);
    if (value.text() == nullptr) throw TemplateError("a string was expected, found " + value.kind());
    return *value.text();
  }
};

/// value | name(arguments); TemplateError when no filter of that name is known.
Value apply_filter(const std::string& name, const Value& value, const Arguments& arguments);

/// value is name(arguments); TemplateError when no test of that name is known.
bool apply_test(const std::string& name, const Value& value, const Arguments& arguments);

/// value.name(arguments) of a string or dict; nothing when it has no such method.
std::optional<Value> call_method(const Value& value, const std::string& name, const Arguments& arguments);

/// left name right, of arithmetic; TemplateError where Python raises one.
Value apply_operator(const std::string& name, const Value& left, const Value& right);

/// value.name or value["name"]; undefined where there is none.
Value member_of(const Value& value, const std::string& name);

/// Without the characters of `cut` at its ends (white space when there are none).
std::string stripped(std::string_view text, bool left, bool right, std::string_view cut = {});

}  // namespace plimsoll::chat
