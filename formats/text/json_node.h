#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/quantity.h"

namespace plimsoll {

/// The first thing found wrong with a document; later ones are dropped, because they often follow from it.
struct JsonFault {
  std::string where;  ///< the document's file name
  std::optional<Error> error;
};

/// A value of a parsed document with its path. Reading never fails in place: what cannot be used is noted in the shared
/// JsonFault and a harmless value is returned, so that a reader is a plain list of fields and asks the fault at the
/// end.
class JsonNode {
 public:
  JsonNode(const nlohmann::json& value, std::string path, JsonFault& fault)
      : value_(&value), path_(std::move(path)), fault_(&fault) {}

  [[nodiscard]] bool is_text() const;
  [[nodiscard]] bool is_array() const;
  [[nodiscard]] bool is_object() const;
  [[nodiscard]] bool is_null() const;
  [[nodiscard]] bool has(std::string_view key) const;

  /// The member `key`; noted as missing, and read as null, when there is none.
  [[nodiscard]] JsonNode at(std::string_view key) const;
  /// The elements of an array.
  [[nodiscard]] std::vector<JsonNode> elements() const;
  /// The elements of the member `key`; none when it is absent.
  [[nodiscard]] std::vector<JsonNode> elements_of(std::string_view key) const;
  /// The keys of an object, sorted.
  [[nodiscard]] std::vector<std::string> keys() const;
  /// Notes a key that is not in the list, with the nearest names that are.
  void allow_only(std::initializer_list<std::string_view> keys) const;

  /// An integer within [low, high]; floating-point notation of a whole number ("1e9") counts.
  [[nodiscard]] std::int64_t integer(std::int64_t low, std::int64_t high) const;
  [[nodiscard]] std::uint64_t natural() const;
  [[nodiscard]] std::uint32_t index() const;
  /// A finite number, not below `low`.
  [[nodiscard]] double number(double low = std::numeric_limits<double>::lowest()) const;
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] std::string text() const;
  /// A count of bytes from 0 to kMaxParsedBytes, or a size in words ("16GiB").
  [[nodiscard]] Bytes bytes() const;
  /// The position of the text in `names`.
  [[nodiscard]] std::size_t one_of(const std::vector<std::string>& names) const;

  /// The same for a member that may be absent.
  [[nodiscard]] std::int64_t integer_or(std::string_view key, std::int64_t absent, std::int64_t low,
                                        std::int64_t high) const;
  [[nodiscard]] double number_or(std::string_view key, double absent,
                                 double low = std::numeric_limits<double>::lowest()) const;
  [[nodiscard]] bool boolean_or(std::string_view key, bool absent) const;
  [[nodiscard]] std::string text_or(std::string_view key, std::string absent) const;

  /// Notes that this value is not what was expected.
  void fault(std::string what, std::string remedy = {}, ErrorKind kind = ErrorKind::kInput) const;

 private:
  void expected(std::string_view what) const;

  const nlohmann::json* value_;
  std::string path_;
  JsonFault* fault_;
};

/// The names of an enumeration's values 0 … last.
template <typename Enum>
std::vector<std::string> enum_names(Enum last) {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(last); ++i) names.emplace_back(to_text(static_cast<Enum>(i)));
  return names;
}

/// The enumerator that `to_text` writes so; `last` is the last one there is.
template <typename Enum>
Enum enum_of(const JsonNode& node, Enum last) {
  return static_cast<Enum>(node.one_of(enum_names(last)));
}

/// The same for a member that may be absent.
template <typename Enum>
Enum enum_or(const JsonNode& node, std::string_view key, Enum absent, Enum last) {
  return node.has(key) ? enum_of(node.at(key), last) : absent;
}

/// Notes a "format_version" that is absent or not `known`.
void read_format_version(const JsonNode& node, int known);

inline constexpr std::int64_t kMaxInt32 = std::numeric_limits<std::int32_t>::max();
/// Largest count (layers, elements, tokens) that a reader accepts.
inline constexpr std::int64_t kMaxParsedCount = std::int64_t{1} << 40;

}  // namespace plimsoll
