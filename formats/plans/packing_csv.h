#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/plan/packing_task.h"
#include "formats/text/csv.h"

namespace plimsoll {

/// A packing task as a CSV file states it.
struct PackingFile {
  CsvTable table;  ///< as it was read, so that it can be written again
  PackingTask task;
};

/// Reads the columns id, lower, upper and size and, where they are there, alignment, offset (fixed), gaps ("4-9 12-15": half-open
/// stretches of time within the life) and hint; others are kept. Lives are half-open. Errors name the line and the column.
Result<PackingFile> read_packing_csv(std::string_view text, const std::string& where);

/// The same table with the column offset filled in, which is appended when it is missing.
std::string write_packing_csv(const PackingFile& file, std::span<const Bytes> offsets);

}  // namespace plimsoll
