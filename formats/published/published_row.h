#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll {

/// Which set of columns a file of published rows has.
enum class PublishedTable : std::uint8_t { kMemory, kThroughput, kOffload, kParallel, kOperators, kInference };

/// One measurement as its source printed it: the fields by column, nothing interpreted but the value.
struct PublishedRow {
  PublishedTable table = PublishedTable::kMemory;
  std::string place;  ///< "memory.csv:12"
  std::vector<std::pair<std::string, std::string>> fields;  ///< by column, in the file's order
  std::optional<double> value;  ///< nothing where it is no number ("OOM")

  /// The field of `column`; empty when the file has no such column.
  [[nodiscard]] std::string_view field(std::string_view column) const;
  /// The field as a whole number of at least 1; nothing when it is empty or anything else.
  [[nodiscard]] std::optional<std::int64_t> whole(std::string_view column) const;
};

std::string_view to_text(PublishedTable table);

}  // namespace plimsoll
