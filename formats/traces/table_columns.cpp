#include "formats/traces/table_columns.h"

#include <fmt/format.h>

#include "formats/runs/statement.h"

namespace plimsoll {

TableColumns::TableColumns(Database& database, std::string table) : table_(std::move(table)) {
  Statement known(database, "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND name = ?");
  known.bind(std::string_view(table_));
  if (!known.step() || known.integer(0) == 0) return;
  Statement row(database, "SELECT name FROM pragma_table_info(?)");
  row.bind(std::string_view(table_));
  while (row.step()) columns_.insert(row.text(0));
}

std::string TableColumns::missing(const std::vector<std::string>& wanted) const {
  std::string list;
  for (const std::string& column : wanted) {
    if (!has(column)) list += (list.empty() ? "" : ", ") + column;
  }
  return list;
}

std::string TableColumns::or_else(std::string_view column, std::string_view absent) const {
  return has(column) ? fmt::format("\"{}\"", column) : std::string(absent);
}

}  // namespace plimsoll
