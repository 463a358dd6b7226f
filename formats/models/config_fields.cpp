#include "formats/models/config_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace plimsoll {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 40;

}  // namespace

void ConfigFields::fault(std::string what, std::string remedy) {
  if (error_) return;
  error_ = Error{.kind = ErrorKind::kInput, .what = std::move(what), .where = where_, .remedy = std::move(remedy)};
}

void ConfigFields::expected(std::string_view name, std::string_view what, const json& found) {
  std::string text = found.dump();
  if (text.size() > 40) text = fmt::format("a long {}", found.type_name());
  fault(fmt::format("'{}': expected {}, found {}", name, what, text));
}

const json* ConfigFields::find(std::string_view name) {
  read_.emplace(name);
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

const json* ConfigFields::find_any(Names names) {
  const json* first = nullptr;
  for (const std::string_view name : names) {
    const json* value = find(name);
    if (value == nullptr) continue;
    if (first != nullptr && *first != *value) fault(fmt::format("{} disagree", fmt::join(names, ", ")));
    if (first == nullptr) first = value;
  }
  return first;
}

std::int64_t ConfigFields::size(Names names, std::optional<std::int64_t> absent) {
  const json* value = find_any(names);
  if (value == nullptr && !absent) fault(fmt::format("the key '{}' is missing", *names.begin()));
  if (value == nullptr) return absent.value_or(1);
  if (value->is_number_unsigned() && value->get<std::uint64_t>() > 0 && value->get<std::uint64_t>() < kMaxSize) {
    return value->get<std::int64_t>();
  }
  expected(*names.begin(), "a whole number from 1 on", *value);
  return 1;
}

double ConfigFields::positive(Names names, double absent) {
  const json* value = find_any(names);
  if (value == nullptr) return absent;
  if (value->is_number() && std::isfinite(value->get<double>()) && value->get<double>() > 0) return value->get<double>();
  expected(*names.begin(), "a positive number", *value);
  return absent;
}

bool ConfigFields::flag(std::string_view name, bool absent) {
  const json* value = find(name);
  if (value == nullptr) return absent;
  if (value->is_boolean()) return value->get<bool>();
  expected(name, "true or false", *value);
  return absent;
}

std::string ConfigFields::word(Names names, std::string_view absent) {
  const json* value = find_any(names);
  if (value == nullptr) return std::string(absent);
  if (value->is_string()) return value->get<std::string>();
  expected(*names.begin(), "a word", *value);
  return std::string(absent);
}

void ConfigFields::pass_over(const std::vector<std::string_view>& names) { read_.insert(names.begin(), names.end()); }

std::vector<std::string> ConfigFields::unread() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : object_.items()) {
    if (!read_.contains(name) && !value.is_null()) names.push_back(name);
  }
  return names;
}

}  // namespace plimsoll
