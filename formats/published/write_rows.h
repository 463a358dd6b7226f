#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll {

/// Fields of one row of memory.csv by column; columns that are not among them stay empty.
using RowFields = std::vector<std::pair<std::string_view, std::string>>;

/// A file with the columns of memory.csv.
std::string memory_rows_csv(const std::vector<RowFields>& rows);

}  // namespace plimsoll
