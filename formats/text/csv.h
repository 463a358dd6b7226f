#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace plimsoll {

/// One row of a CSV file, with the line its first field stands on.
struct CsvRow {
  std::size_t line = 0;
  std::vector<std::string> fields;
};

/// A CSV file (RFC 4180) with a header; every row has as many fields as the header.
struct CsvTable {
  std::string where;  ///< for errors: the file's name
  std::vector<std::string> header;
  std::vector<CsvRow> rows;

  /// "gpus.csv:12".
  [[nodiscard]] std::string place(const CsvRow& row) const;
};

/// Reads a CSV text. Refuses, with its line, a row of another length than the header, text after a closing quote, an
/// open quote, a quote within a bare field, a NUL byte, and a repeated or empty column name. Blank lines are skipped.
Result<CsvTable> read_csv(std::string_view text, std::string where);

/// A field as it stands in a CSV file: in quotes where a comma, a quote or a line's end is in it (RFC 4180, section 2).
std::string csv_field(std::string_view text);

/// The whole of `text` as a finite number; nothing when it is anything else.
std::optional<double> parse_number(std::string_view text);

/// Reads fields of one row by column name and remembers the first thing wrong, so that a record is read in straight
/// lines.
class CsvFields {
 public:
  CsvFields(const CsvTable& table, const CsvRow& row) : table_(table), row_(row) {}

  /// Whether the table has such a column at all.
  [[nodiscard]] bool has(std::string_view column) const;
  std::string text(std::string_view column);
  double number(std::string_view column);
  std::optional<double> optional_number(std::string_view column);  ///< nothing when the field is empty

  /// What was wrong first, if anything.
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  /// Notes a defect that the caller found in `column`.
  void refuse(std::string_view column, std::string what);

 private:
  const CsvTable& table_;
  const CsvRow& row_;
  std::optional<Error> error_;
};

}  // namespace plimsoll
