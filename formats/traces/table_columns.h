#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "formats/runs/database.h"

namespace plimsoll {

/// The columns that a table of somebody else's database has; tables and columns come and go between versions.
class TableColumns {
 public:
  /// No columns when there is no such table. A view of that name is no table: its query could be anything.
  TableColumns(Database& database, std::string table);

  [[nodiscard]] bool exists() const { return !columns_.empty(); }
  [[nodiscard]] bool has(std::string_view column) const { return columns_.count(std::string(column)) == 1; }
  /// Those of `wanted` that the table lacks, "a, b".
  [[nodiscard]] std::string missing(const std::vector<std::string>& wanted) const;
  /// The column in quotes, or `absent`, which is SQL, where the table lacks it.
  [[nodiscard]] std::string or_else(std::string_view column, std::string_view absent) const;
  [[nodiscard]] const std::string& table() const { return table_; }

 private:
  std::string table_;
  std::set<std::string> columns_;
};

}  // namespace plimsoll
