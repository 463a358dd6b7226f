#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace plimsoll {

/// Reads a model's config.json: a null is absent, a field may have several names, and every key must be accounted for.
/// The first thing wrong is kept and harmless values are returned, so that a reader is a plain list of fields.
class ConfigFields {
 public:
  using Names = std::initializer_list<std::string_view>;

  ConfigFields(const nlohmann::json& object, std::string where) : object_(object), where_(std::move(where)) {}

  /// A whole number from 1 on; without `absent` it must be there. Two of the names with different values are an error.
  std::int64_t size(Names names, std::optional<std::int64_t> absent = {});
  double positive(Names names, double absent);
  bool flag(std::string_view name, bool absent);
  std::string word(Names names, std::string_view absent);

  /// True when the key is there, be it null.
  [[nodiscard]] bool states(std::string_view name) const { return object_.contains(name); }
  /// The value of a key that is there and not null; the key counts as read.
  const nlohmann::json* find(std::string_view name);
  /// Counts keys as read whose value decides nothing about the model's shape or arithmetic.
  void pass_over(const std::vector<std::string_view>& names);
  /// Keys that nobody has asked for, sorted.
  [[nodiscard]] std::vector<std::string> unread() const;

  void fault(std::string what, std::string remedy = {});
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  const nlohmann::json* find_any(Names names);
  void expected(std::string_view name, std::string_view what, const nlohmann::json& found);

  const nlohmann::json& object_;
  std::string where_;
  std::set<std::string, std::less<>> read_;
  std::optional<Error> error_;
};

}  // namespace plimsoll
