#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "formats/text/json_node.h"

namespace plimsoll {

/// The keys of a mapping in a training file, taken one after another. What is null or "auto" says nothing, as in the programs that read such
/// files. Keys that nobody took are asked for at the end.
class FileKeys {
 public:
  FileKeys(const nlohmann::json& mapping, std::string path, JsonFault& fault)
      : mapping_(&mapping), node_(mapping, path, fault), path_(std::move(path)), fault_(&fault) {}

  [[nodiscard]] bool says(std::string_view key) const;
  /// Whether the value is "auto", which says nothing otherwise.
  [[nodiscard]] bool is_auto(std::string_view key);

  /// Of a mapping that names a class under "_component_": the name; nothing where there is none.
  [[nodiscard]] std::string component_of(std::string_view key) const;

  std::optional<std::string> text(std::string_view key);
  /// Whole, from `low` on.
  std::optional<std::int64_t> whole(std::string_view key, std::int64_t low = 1);
  /// Not below 0.
  std::optional<double> real(std::string_view key);
  std::optional<bool> flag(std::string_view key);
  [[nodiscard]] bool is_set(std::string_view key) { return flag(key).value_or(false); }
  /// A list, or one text, as its elements with commas between them.
  std::optional<std::string> list(std::string_view key);
  /// The keys of a mapping; those of an empty one where there is none.
  FileKeys block(std::string_view key);

  /// The value as it is written, of a key that is taken so that it can be told in words.
  std::string written(std::string_view key);
  /// Takes keys that change neither memory nor time.
  void pass_over(std::initializer_list<std::string_view> keys);
  /// Takes all keys that begin or end so.
  void pass_over_named(std::initializer_list<std::string_view> beginnings, std::initializer_list<std::string_view> endings = {});

  /// "key value" of each that says something and was not taken, with the key that was asked for of which it may be a slip of the pen.
  [[nodiscard]] std::vector<std::string> left() const;

  /// Notes that a key's value is nothing that can be told; the error names the key.
  void refuse(std::string_view key, std::string what, std::string remedy = {}) const { node_.at(key).fault(std::move(what), std::move(remedy)); }

 private:
  const nlohmann::json* taken(std::string_view key);

  const nlohmann::json* mapping_;
  JsonNode node_;
  std::string path_;
  JsonFault* fault_;
  std::set<std::string, std::less<>> taken_;
};

}  // namespace plimsoll
