#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/published/reading_rules.h"

namespace plimsoll {

/// Keys that the tables of spellings may set (docs/validation.md says what each means).
const std::vector<std::string_view>& row_fact_keys();

/// One row with what the tables found in it. A field of the row's own columns goes before a rule's value. The first thing
/// that cannot be stated is noted, and so is everything that had to be assumed.
class RowFacts {
 public:
  RowFacts(const PublishedRow& row, RowReading reading) : row_(row), reading_(std::move(reading)) {}

  [[nodiscard]] const PublishedRow& row() const { return row_; }
  [[nodiscard]] std::string_view fact(std::string_view key) const { return reading_.fact(key); }
  [[nodiscard]] bool is_true(std::string_view key) const { return fact(key) == "true"; }

  /// The column, or the fact of that key; nothing when neither is there. A column with anything but a whole number is
  /// noted as unreadable.
  std::optional<std::int64_t> whole(std::string_view column, std::string_view key);
  std::optional<std::int64_t> whole_fact(std::string_view key);
  std::optional<double> number_fact(std::string_view key);
  /// The fact where it is there; otherwise `assumed`, and the row is open in `what`.
  std::int64_t whole_or_open(std::string_view column, std::string_view key, std::int64_t assumed, std::string_view what);

  /// Takes what rows of our own reports say among their notes, as "key value" between semicolons: plan and machine, and nothing else. A
  /// key that stands there twice refuses the row, and one without a plan is open in that.
  void take_notes();

  void refuse(std::string_view kind, std::string_view detail);
  void leave_open(std::string_view what);

  [[nodiscard]] bool is_refused() const { return !reading_.refusals.empty(); }
  [[nodiscard]] const std::vector<std::string>& refusals() const { return reading_.refusals; }
  [[nodiscard]] const std::vector<std::string>& open() const { return reading_.open; }

 private:
  const PublishedRow& row_;
  RowReading reading_;
};

}  // namespace plimsoll
