#include "formats/chat/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "formats/tokenizers/utf8.h"

namespace plimsoll::chat {

const Value* Dict::find(std::string_view key) const {
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const auto& entry) { return entry.first == key; });
  return found == entries.end() ? nullptr : &found->second;
}

void Dict::set(std::string_view key, Value value) {
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const auto& entry) { return entry.first == key; });
  if (found == entries.end()) {
    entries.emplace_back(std::string(key), std::move(value));
  } else {
    found->second = std::move(value);
  }
}

Value Value::from(const nlohmann::ordered_json& json) {
  if (json.is_null()) return None{};
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) return json.get<double>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_array()) {
    List list;
    for (const auto& element : json) list.push_back(from(element));
    return list;
  }
  Dict dict;
  for (const auto& [key, value] : json.items()) dict.entries.emplace_back(key, from(value));
  return dict;
}

const List* Value::list() const {
  const auto* found = get<std::shared_ptr<List>>();
  return found == nullptr ? nullptr : found->get();
}

const Dict* Value::dict() const {
  const auto* found = get<std::shared_ptr<Dict>>();
  return found == nullptr ? nullptr : found->get();
}

Dict* Value::changeable() {
  const auto* found = get<std::shared_ptr<Dict>>();
  return found == nullptr || !is_namespace ? nullptr : found->get();
}

bool Value::truth() const {
  if (const auto* flag = get<bool>()) return *flag;
  if (const auto* number = get<std::int64_t>()) return *number != 0;
  if (const auto* number = get<double>()) return *number != 0;
  if (const auto* string = text()) return !string->empty();
  if (const auto* elements = list()) return !elements->empty();
  if (const auto* entries = dict()) return !entries->entries.empty();
  return !is_undefined() && !is_none();
}

std::string Value::kind() const {
  if (const auto* undefined = get<Undefined>()) return fmt::format("'{}', which is undefined", undefined->name);
  if (is_none()) return "None";
  if (get<bool>()) return "a bool";
  if (is_number()) return "a number";
  if (text()) return "a string";
  if (list()) return "a list";
  return dict() ? "a dict" : "a macro";
}

double Value::real() const {
  if (const auto* number = get<double>()) return *number;
  return static_cast<double>(integer());
}

std::int64_t Value::integer() const {
  if (const auto* flag = get<bool>()) return *flag ? 1 : 0;
  if (const auto* number = get<std::int64_t>()) return *number;
  throw TemplateError(fmt::format("a number was expected, found {}", kind()));
}

bool equal(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    return a.get<double>() || b.get<double>() ? a.real() == b.real() : a.integer() == b.integer();
  }
  if (a.text() && b.text()) return *a.text() == *b.text();
  if (a.list() && b.list()) return std::equal(a.list()->begin(), a.list()->end(), b.list()->begin(), b.list()->end(), equal);
  if (a.dict() && b.dict()) {
    const auto& entries = a.dict()->entries;
    return entries.size() == b.dict()->entries.size() && std::all_of(entries.begin(), entries.end(), [&](const auto& entry) {
             const Value* other = b.dict()->find(entry.first);
             return other != nullptr && equal(entry.second, *other);
           });
  }
  return (a.is_none() && b.is_none()) || (a.is_undefined() && b.is_undefined());
}

bool less(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    return a.get<double>() || b.get<double>() ? a.real() < b.real() : a.integer() < b.integer();
  }
  if (a.text() && b.text()) return *a.text() < *b.text();
  if (a.list() && b.list()) {
    return std::lexicographical_compare(a.list()->begin(), a.list()->end(), b.list()->begin(), b.list()->end(), less);
  }
  throw TemplateError(fmt::format("{} and {} have no order", a.kind(), b.kind()));
}

bool contains(const Value& container, const Value& item) {
  if (const auto* text = container.text()) {
    if (!item.text()) throw TemplateError(fmt::format("only a string can be in a string, not {}", item.kind()));
    return text->find(*item.text()) != std::string::npos;
  }
  if (const auto* dict = container.dict()) return item.text() && dict->find(*item.text()) != nullptr;
  if (const auto* list = container.list()) {
    return std::any_of(list->begin(), list->end(), [&](const Value& element) { return equal(element, item); });
  }
  if (container.is_undefined()) return false;
  throw TemplateError(fmt::format("nothing can be in {}", container.kind()));
}

List characters_of(std::string_view text) {
  List characters;
  for (std::size_t at = 0; at < text.size(); at += utf8_length(text[at])) {
    characters.emplace_back(std::string(text.substr(at, utf8_length(text[at]))));
  }
  return characters;
}

List items_of(const Value& value) {
  if (const auto* list = value.list()) return *list;
  if (const auto* text = value.text()) return characters_of(*text);
  if (value.is_undefined()) return {};
  if (const auto* dict = value.dict()) {
    List keys;
    for (const auto& entry : dict->entries) keys.emplace_back(entry.first);
    return keys;
  }
  throw TemplateError(fmt::format("nothing can be taken one by one from {}", value.kind()));
}

}  // namespace plimsoll::chat
