#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>

#include "formats/chat/arguments.h"
#include "formats/tokenizers/utf8.h"

namespace plimsoll::chat {
namespace {

using Filter = std::function<Value(const Value&, const Arguments&)>;

std::string cased(std::string_view text, bool upper) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += utf8_length(text[at])) {
    const auto c = static_cast<utf8proc_int32_t>(utf8_at(text, at));
    append_utf8(out, static_cast<char32_t>(upper ? utf8proc_toupper(c) : utf8proc_tolower(c)));
  }
  return out;
}

/// The first letter large, the others small; of each word when `words`.
std::string capitalized(std::string_view text, bool words) {
  std::string out;
  bool begins = true;
  for (const Value& character : characters_of(text)) {
    const std::string& one = *character.text();
    out += cased(one, begins);
    begins = words && cased(one, true) == cased(one, false);
  }
  return out;
}

Value length(const Value& value, const Arguments&) {
  if (value.dict()) return static_cast<std::int64_t>(value.dict()->entries.size());
  return static_cast<std::int64_t>(items_of(value).size());
}

/// "a.b" of a dict, or an element by its number.
Value attribute_of(const Value& value, const Value& path) {
  if (!path.text()) {
    const List items = items_of(value);
    const std::int64_t index = path.integer();
    return index >= 0 && index < static_cast<std::int64_t>(items.size()) ? items[static_cast<std::size_t>(index)] : Value();
  }
  Value at = value;
  const Value names = *call_method(path, "split", {.values = {"."}, .named = {}});
  for (const Value& name : *names.list()) at = member_of(at, *name.text());
  return at;
}

Arguments from(const Arguments& arguments, std::size_t first) {
  Arguments rest;
  if (arguments.values.size() > first) {
    rest.values.assign(arguments.values.begin() + static_cast<std::ptrdiff_t>(first), arguments.values.end());
  }
  return rest;
}

/// select, reject, selectattr, rejectattr.
Filter choosing(bool by_attribute, bool keep) {
  return [=](const Value& value, const Arguments& arguments) {
    const std::size_t test = by_attribute ? 1 : 0;
    List chosen;
    for (const Value& item : items_of(value)) {
      const Value subject = by_attribute ? attribute_of(item, arguments.need(0)) : item;
      const bool passes = arguments.find(test) ? apply_test(arguments.text(test), subject, from(arguments, test + 1))
                                               : subject.truth();
      if (passes == keep) chosen.push_back(item);
    }
    return Value(std::move(chosen));
  };
}

Value map(const Value& value, const Arguments& arguments) {
  List mapped;
  const Value* attribute = arguments.values.empty() ? arguments.find(0, "attribute") : nullptr;
  for (const Value& item : items_of(value)) {
    if (attribute == nullptr) {
      mapped.push_back(apply_filter(arguments.text(0), item, from(arguments, 1)));
      continue;
    }
    Value found = attribute_of(item, *attribute);
    const Value* otherwise = arguments.find(1, "default");
    mapped.push_back(found.is_undefined() && otherwise ? *otherwise : std::move(found));
  }
  return Value(std::move(mapped));
}

Value join(const Value& value, const Arguments& arguments) {
  const std::string between = arguments.find(0, "d") ? to_text(*arguments.find(0, "d")) : "";
  const Value* attribute = arguments.find(1, "attribute");
  std::string text;
  bool first = true;
  for (const Value& item : items_of(value)) {
    if (!first) text += between;
    text += to_text(attribute ? attribute_of(item, *attribute) : item);
    first = false;
  }
  return text;
}

Value sort(const Value& value, const Arguments& arguments) {
  List items = items_of(value);
  const Value* attribute = arguments.find(2, "attribute");
  const bool exact = arguments.find(1, "case_sensitive") && arguments.find(1, "case_sensitive")->truth();
  const auto key = [&](const Value& item) {
    const Value subject = attribute ? attribute_of(item, *attribute) : item;
    return subject.text() && !exact ? Value(cased(*subject.text(), false)) : subject;
  };
  std::stable_sort(items.begin(), items.end(), [&](const Value& a, const Value& b) { return less(key(a), key(b)); });
  if (arguments.find(0, "reverse") && arguments.find(0, "reverse")->truth()) std::reverse(items.begin(), items.end());
  return items;
}

Value unique(const Value& value, const Arguments&) {
  List kept;
  for (const Value& item : items_of(value)) {
    if (!contains(kept, item)) kept.push_back(item);
  }
  return kept;
}

Value reverse(const Value& value, const Arguments&) {
  List items = items_of(value);
  std::reverse(items.begin(), items.end());
  if (!value.text()) return items;
  return join(items, {});
}

Value items(const Value& value, const Arguments& arguments) {
  if (value.is_undefined()) return List{};
  if (!value.dict()) throw TemplateError(fmt::format("items of {}", value.kind()));
  return *call_method(value, "items", arguments);
}

Value indent(const Value& value, const Arguments& arguments) {
  const Value* width = arguments.find(0, "width");
  const bool first = arguments.find(1, "first") && arguments.find(1, "first")->truth();
  const bool blank = arguments.find(2, "blank") && arguments.find(2, "blank")->truth();
  const bool in_words = width && width->text();
  const std::int64_t spaces = in_words ? 0 : std::clamp<std::int64_t>(width ? width->integer() : 4, 0, 1000);
  const std::string margin = in_words ? *width->text() : std::string(static_cast<std::size_t>(spaces), ' ');
  std::string out = first ? margin : "";
  const std::string text = to_text(value);
  for (std::size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    const bool line_follows = text[i] == '\n' && i + 1 < text.size() && (blank || text[i + 1] != '\n');
    if (line_follows) out += margin;
  }
  return out;
}

Value whole(const Value& value, const Arguments& arguments) {
  const Value otherwise = arguments.find(0, "default") ? *arguments.find(0, "default") : Value(std::int64_t{0});
  if (const auto* real = value.get<double>()) {
    return std::fabs(*real) < 9e18 ? Value(static_cast<std::int64_t>(*real)) : otherwise;
  }
  if (value.is_number()) return value.integer();
  if (!value.text()) return otherwise;
  const std::string text = stripped(*value.text(), true, true);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? Value(number) : otherwise;
}

Value real(const Value& value, const Arguments& arguments) {
  if (value.is_number()) return value.real();
  double number = 0;
  const std::string text = value.text() ? stripped(*value.text(), true, true) : "";
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size()) return number;
  return arguments.find(0, "default") ? *arguments.find(0, "default") : Value(0.0);
}

Value otherwise(const Value& value, const Arguments& arguments) {
  const bool for_false = arguments.find(1, "boolean") && arguments.find(1, "boolean")->truth();
  if (!value.is_undefined() && (!for_false || value.truth())) return value;
  return arguments.find(0, "default_value") ? *arguments.find(0, "default_value") : Value("");
}

Value to_json(const Value& value, const Arguments& arguments) {
  const Value* indent = arguments.find(1, "indent");  // transformers' filter: ensure_ascii, indent, separators, sort_keys
  if (!arguments.values.empty()) indent = arguments.find(0);  // Jinja's own: indent
  return to_json_text(value, indent && !indent->is_none() ? std::clamp<std::int64_t>(indent->integer(), 0, 64) : -1);
}

Value first_or_last(const Value& value, bool first) {
  const List all = items_of(value);
  if (all.empty()) return Undefined{first ? "first" : "last"};
  return first ? all.front() : all.back();
}

Value extreme(const Value& value, bool largest) {
  const List all = items_of(value);
  if (all.empty()) return Undefined{largest ? "max" : "min"};
  return largest ? *std::max_element(all.begin(), all.end(), less) : *std::min_element(all.begin(), all.end(), less);
}

Value sum(const Value& value, const Arguments&) {
  Value total(std::int64_t{0});
  for (const Value& item : items_of(value)) total = apply_operator("+", total, item);
  return total;
}

Value rounded(const Value& value, const Arguments& arguments) {
  const Value* digits = arguments.find(0, "precision");
  const double scale = std::pow(10.0, static_cast<double>(digits ? digits->integer() : 0));
  return std::nearbyint(value.real() * scale) / scale;
}

std::map<std::string, Filter> make_filters() {
  const auto of_text = [](auto change) {
    return [change](const Value& value, const Arguments&) { return Value(change(to_text(value))); };
  };
  std::map<std::string, Filter> filters{
      {"upper", of_text([](const std::string& text) { return cased(text, true); })},
      {"lower", of_text([](const std::string& text) { return cased(text, false); })},
      {"capitalize", of_text([](const std::string& text) { return capitalized(text, false); })},
      {"title", of_text([](const std::string& text) { return capitalized(text, true); })},
      {"string", of_text([](const std::string& text) { return text; })},
      {"trim", [](const Value& value, const Arguments& a) {
         return Value(stripped(to_text(value), true, true, a.find(0, "chars") ? std::string_view(a.text(0, "chars")) : ""));
       }},
      {"replace", [](const Value& value, const Arguments& a) { return *call_method(to_text(value), "replace", a); }},
      {"first", [](const Value& value, const Arguments&) { return first_or_last(value, true); }},
      {"last", [](const Value& value, const Arguments&) { return first_or_last(value, false); }},
      {"min", [](const Value& value, const Arguments&) { return extreme(value, false); }},
      {"max", [](const Value& value, const Arguments&) { return extreme(value, true); }},
      {"abs", [](const Value& value, const Arguments&) {
         if (value.get<double>()) return Value(std::fabs(value.real()));
         return value.integer() < 0 ? apply_operator("-", std::int64_t{0}, value) : Value(value.integer());
       }},
      {"list", [](const Value& value, const Arguments&) { return Value(items_of(value)); }},
      {"safe", [](const Value& value, const Arguments&) { return value; }},
      {"length", length}, {"count", length}, {"join", join}, {"map", map}, {"sort", sort}, {"unique", unique},
      {"reverse", reverse}, {"items", items}, {"indent", indent}, {"int", whole}, {"float", real}, {"default", otherwise},
      {"d", otherwise}, {"tojson", to_json}, {"sum", sum}, {"round", rounded},
      {"select", choosing(false, true)}, {"reject", choosing(false, false)},
      {"selectattr", choosing(true, true)}, {"rejectattr", choosing(true, false)},
      {"dictsort", [](const Value& value, const Arguments&) { return sort(items(value, {}), {}); }},
  };
  return filters;
}

}  // namespace

Value apply_filter(const std::string& name, const Value& value, const Arguments& arguments) {
  static const std::map<std::string, Filter> kFilters = make_filters();
  const auto found = kFilters.find(name);
  if (found == kFilters.end()) throw TemplateError(fmt::format("the filter '{}' is not known here", name));
  return found->second(value, arguments);
}

}  // namespace plimsoll::chat
