#include "formats/published/write_rows.h"

#include <algorithm>

#include "formats/text/csv.h"

namespace plimsoll {
namespace {

constexpr std::string_view kColumns[] = {"system",     "model",  "params",        "layers",     "hidden",  "heads",
                                         "kv_heads",   "ffn",    "vocab",         "seq",        "micro_batch",
                                         "precision",  "optimizer", "checkpointing", "zero_stage", "offload", "n_gpu",
                                         "gpu",        "metric", "value",         "unit",       "source",  "flag",
                                         "notes"};

std::string_view field_of(const RowFields& row, std::string_view column) {
  const auto found = std::find_if(row.begin(), row.end(), [&](const auto& field) { return field.first == column; });
  return found == row.end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace

std::string memory_rows_csv(const std::vector<RowFields>& rows) {
  std::string text;
  const auto put_line = [&](const auto& field) {
    for (const std::string_view column : kColumns) {
      text += csv_field(field(column));
      text += column == std::end(kColumns)[-1] ? '\n' : ',';
    }
  };
  put_line([](std::string_view column) { return column; });
  for (const RowFields& row : rows) {
    put_line([&](std::string_view column) { return field_of(row, column); });
  }
  return text;
}

}  // namespace plimsoll
