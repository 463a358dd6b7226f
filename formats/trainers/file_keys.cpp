#include "formats/trainers/file_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/base/nearest_names.h"

namespace plimsoll {
namespace {

const nlohmann::json kNothing = nlohmann::json::object();

bool says_something(const nlohmann::json& value) { return !value.is_null() && value != "auto" && value != ""; }

std::string as_written(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// As much of it as a line about several keys has room for.
std::string shortened(const nlohmann::json& value) {
  const std::string text = as_written(value);
  return text.size() > 40 ? text.substr(0, 37) + "..." : text;
}

}  // namespace

bool FileKeys::says(std::string_view key) const {
  const auto found = mapping_->find(key);
  return found != mapping_->end() && says_something(*found);
}

bool FileKeys::is_auto(std::string_view key) {
  taken_.emplace(key);
  const auto found = mapping_->find(key);
  return found != mapping_->end() && *found == "auto";
}

std::string FileKeys::component_of(std::string_view key) const {
  const auto found = mapping_->find(key);
  if (found == mapping_->end() || !found->is_object()) return {};
  const auto component = found->find("_component_");
  return component != found->end() && component->is_string() ? component->get<std::string>() : std::string();
}

const nlohmann::json* FileKeys::taken(std::string_view key) {
  taken_.emplace(key);
  return says(key) ? &*mapping_->find(key) : nullptr;
}

std::optional<std::string> FileKeys::text(std::string_view key) {
  const nlohmann::json* value = taken(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_structured()) return node_.at(key).text();  // notes what was expected
  return as_written(*value);
}

std::optional<std::int64_t> FileKeys::whole(std::string_view key, std::int64_t low) {
  if (taken(key) == nullptr) return std::nullopt;
  return node_.at(key).integer(low, kMaxParsedCount);
}

std::optional<double> FileKeys::real(std::string_view key) {
  if (taken(key) == nullptr) return std::nullopt;
  return node_.at(key).number(0);
}

std::optional<bool> FileKeys::flag(std::string_view key) {
  const nlohmann::json* value = taken(key);
  if (value == nullptr) return std::nullopt;
  if (*value == "true" || *value == "True") return true;
  if (*value == "false" || *value == "False") return false;
  return node_.at(key).boolean();
}

std::optional<std::string> FileKeys::list(std::string_view key) {
  const nlohmann::json* value = taken(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array()) return text(key);
  std::vector<std::string> elements;
  for (const JsonNode& element : node_.at(key).elements()) elements.push_back(element.text());
  if (elements.empty()) return std::nullopt;
  return fmt::format("{}", fmt::join(elements, ","));
}

FileKeys FileKeys::block(std::string_view key) {
  const nlohmann::json* value = taken(key);
  if (value != nullptr && !value->is_object()) node_.at(key).fault("this is no mapping");
  const bool usable = value != nullptr && value->is_object();
  return {usable ? *value : kNothing, fmt::format("{}/{}", path_, key), *fault_};
}

std::string FileKeys::written(std::string_view key) {
  const nlohmann::json* value = taken(key);
  return value == nullptr ? std::string(key) : fmt::format("{} {}", key, shortened(*value));
}

void FileKeys::pass_over(std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) taken_.emplace(key);
}

void FileKeys::pass_over_named(std::initializer_list<std::string_view> beginnings, std::initializer_list<std::string_view> endings) {
  for (const auto& [key, value] : mapping_->items()) {
    const std::string_view name = key;
    const bool begins = std::ranges::any_of(beginnings, [&](std::string_view part) { return name.starts_with(part); });
    const bool ends = std::ranges::any_of(endings, [&](std::string_view part) { return name.ends_with(part); });
    if (begins || ends) taken_.insert(key);
  }
}

std::vector<std::string> FileKeys::left() const {
  std::vector<std::string> left, missing;
  std::copy_if(taken_.begin(), taken_.end(), std::back_inserter(missing), [&](const std::string& key) { return !mapping_->contains(key); });
  for (const auto& [key, value] : mapping_->items()) {
    if (taken_.contains(key) || !says_something(value) || value == false) continue;
    const std::string meant = slip_of(key, missing);
    left.push_back(fmt::format("{}{}{}{}", path_.empty() ? "" : path_.substr(1) + "/", key, value.is_structured() ? "" : " " + shortened(value),
                               meant.empty() ? "" : fmt::format(" (did you mean {}?)", meant)));
  }
  return left;
}

}  // namespace plimsoll
