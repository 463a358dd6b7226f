#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "formats/published/published_row.h"

namespace plimsoll {

/// One line of a table of spellings: where every field of `when` has its spelling, the row says `sets`.
struct ReadingRule {
  std::vector<std::pair<std::string, std::string>> when;  ///< column, spelling
  std::vector<std::pair<std::string, std::string>> sets;  ///< key, value; "{}" in a value is the number that was found
  std::string place;                                      ///< "systems.csv:12"
};

/// What the rules found in one row: keys and values, a later rule before an earlier one, and what they note beside it.
struct RowReading {
  std::vector<std::pair<std::string, std::string>> facts;  ///< each key once
  std::vector<std::string> open;      ///< what the source leaves unsaid
  std::vector<std::string> refusals;  ///< why the row cannot be stated

  /// The value of a key; empty when no rule set it.
  [[nodiscard]] std::string_view fact(std::string_view key) const;
};

/// Reads a table with the columns when, sets and why: "system=LitGPT* & notes=*DDP*", "stack=pytorch; zero=0". Keys that
/// `known_keys` does not list are errors with file, line and key; "open" and "refuse" are always known.
Result<std::vector<ReadingRule>> read_reading_rules(std::string_view text, std::string where,
                                                    const std::vector<std::string_view>& known_keys);

/// Applies the rules in their order.
RowReading apply_rules(const std::vector<ReadingRule>& rules, const PublishedRow& row);

}  // namespace plimsoll
